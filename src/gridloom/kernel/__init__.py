"""Pure values of time, money, units, codes and problems, from the standard library alone."""
