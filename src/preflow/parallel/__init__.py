"""Threads that work on one problem together: the team, its barrier and its queues."""
