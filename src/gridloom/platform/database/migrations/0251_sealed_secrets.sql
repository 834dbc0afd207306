-- A signing key is stored as its 32 bytes, or sealed with a key that is not in the database (mark 1 and what follows).
alter table signing_key drop constraint signing_key_seed_sized;
alter table signing_key add constraint signing_key_seed_known
  check (length(private_seed) = 32 or (length(private_seed) > 32 and get_byte(private_seed, 0) = 1));
