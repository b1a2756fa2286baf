"""What every problem shares: the registry record, the choice of a method, the interruptible run, results."""
