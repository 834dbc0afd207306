-- Where a battery was measured to hold something else than its plan says: the next plan is made from there.
create table delivery_anchor (
  asset_key int primary key references asset,
  version bigint not null,                            -- counts a battery's anchors; plans are stamped with the last
  measured_period int not null,
  offset_kwh double precision not null,               -- measured less planned, at the start of that period
  applied_from int                                    -- the first period of the plan that counts it, once there is one
);
