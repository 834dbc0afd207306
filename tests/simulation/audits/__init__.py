"""What is compared at midnights and at the end of a life: the whole of it, one file for each part."""
