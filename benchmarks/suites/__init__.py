"""The suites of each problem: cases that are measured together."""
