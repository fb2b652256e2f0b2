-- Run it once. The database and the warehouse are those of the connection.
create schema if not exists analytics;
create stage if not exists analytics.foliopipe_unload;

create role if not exists foliopipe;
grant usage on schema crm to role foliopipe;
grant select on table crm.businesses to role foliopipe;
grant usage, create table on schema analytics to role foliopipe;
grant read, write on stage analytics.foliopipe_unload to role foliopipe;
