"""
Block triangular form of a sparse matrix
========================================

A maximum matching of rows and columns leads to the Dulmage-Mendelsohn decomposition: permutations that
bring a matrix into block triangular form. A linear system then falls apart into the blocks on the
diagonal.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

import preflow

# a block triangular matrix whose rows and columns were shuffled
random = np.random.default_rng(3)
sizes = [12, 30, 1, 1, 18, 8, 1, 25, 4]
n = sum(sizes)
blocks = scipy.sparse.block_diag(
    [scipy.sparse.eye(k) + scipy.sparse.random(k, k, 0.25, rng=random) for k in sizes]
)
above = scipy.sparse.triu(scipy.sparse.random(n, n, 0.02, rng=random))
matrix = scipy.sparse.csr_array(blocks + above)[random.permutation(n)][:, random.permutation(n)]

# %%

print("structural rank:", preflow.structural_rank(matrix), "of", n)
form = preflow.dulmage_mendelsohn(matrix)
print(form.num_blocks, "blocks; the largest have", sorted(np.diff(form.row_blocks).tolist())[-4:], "rows")
ordered = matrix[form.row_order][:, form.column_order]

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
axes[0].spy(matrix, markersize=2)
axes[0].set_title("given")
axes[1].spy(ordered, markersize=2)
axes[1].set_title("block triangular form")
for first, last in zip(form.row_blocks[:-1], form.row_blocks[1:], strict=True):
    axes[1].add_patch(
        plt.Rectangle((first - 0.5, first - 0.5), last - first, last - first, fill=False, color="red")
    )
plt.show()
