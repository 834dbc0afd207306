"""What every room builds on: pure values of time, money, units, codes and refusals, from the standard library alone."""
