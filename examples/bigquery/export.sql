-- The source of a night, as a table of its own, because bq extract takes only whole tables.
create or replace table foliopipe_export
options (expiration_timestamp = timestamp_add(current_timestamp(), interval 2 day))
as
select account, business_name, address, city, state, zip
from crm.businesses;
