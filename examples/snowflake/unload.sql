-- The source of a night. The file format matters: without field_optionally_enclosed_by Snowflake writes text that is not
-- CSV, and without null_if = () it writes \N for a missing value. With the order, equal tables give equal files.
remove @analytics.foliopipe_unload;

copy into @analytics.foliopipe_unload/businesses_
from (
    select account, business_name, address, city, state, zip
    from crm.businesses
    order by account
)
file_format = (type = csv compression = gzip field_optionally_enclosed_by = '"' null_if = ())
header = true
max_file_size = 268435456;

-- An absolute path: night.sh gives the folder.
get @analytics.foliopipe_unload file://&{folder}/;
