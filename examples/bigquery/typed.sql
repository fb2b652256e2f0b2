-- A view with types over the loaded table, where everything is STRING. BigQuery reads an empty text of a CSV as null.
create or replace view businesses_typed as
select
    account,
    business_name,
    zip,
    prediction_naics_code as naics_code,
    safe_cast(prediction_confidence as float64) as confidence,
    timestamp(prediction_answered_at) as answered_at,
    prediction_status = 'SUCCESSFUL' as is_predicted_now
from businesses
where prediction_naics_code is not null;
