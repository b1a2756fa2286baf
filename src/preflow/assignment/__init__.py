"""Linear assignment: the public function, its solvers, and the pieces that several solvers share."""
