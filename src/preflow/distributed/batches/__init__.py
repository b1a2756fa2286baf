"""Many independent problems on many workers: see :func:`preflow.distributed.map`.

A *worker* solves one item after the other. A *host* owns workers: threads, processes, the tasks of a Ray or
Dask cluster. Items travel in *chunks*, so that the cost of a message is shared by many small items.

- ``task.py``: what a worker does with a chunk;
- ``host.py``: what :func:`map` needs of a host, and the threads of this process;
- ``processes.py``, ``worker.py``: processes of this machine, and what runs in each;
- ``ray_tasks.py``, ``dask_tasks.py``: clusters;
- ``api.py``: chunks, order, bounds, failures, the time limit.
"""
