"""Orders at the stages of a day: placing, cancelling, results, and what they hold until then."""
