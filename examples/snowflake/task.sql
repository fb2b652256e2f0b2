-- Run it once, after the first load. MERGE writes only rows that differ, so the stream holds only what a night has really
-- changed, and the task reads only that. An updated row is in a stream as METADATA$ACTION INSERT with METADATA$ISUPDATE.
create stream if not exists analytics.businesses_changes on table analytics.businesses;

create or replace task analytics.apply_predictions
    warehouse = etl_wh
    schedule = '15 minute'
    when system$stream_has_data('analytics.businesses_changes')
as
merge into crm.customers as c
using (
    select account, prediction_naics_code, cast(prediction_confidence as double) as confidence
    from analytics.businesses_changes
    where metadata$action = 'INSERT' and prediction_status = 'SUCCESSFUL'
) as b
    on c.account = b.account
when matched then update set naics_code = b.prediction_naics_code, naics_confidence = b.confidence;

alter task analytics.apply_predictions resume;
