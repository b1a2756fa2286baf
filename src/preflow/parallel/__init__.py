"""Threads that work on one problem together: the thread pool, barriers, queues, searches and sorts."""
