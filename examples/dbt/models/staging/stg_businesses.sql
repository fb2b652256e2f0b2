-- Codes, ZIP codes and accounts stay text: 01001 is not 1001. Only what is counted or compared as a number or a time
-- gets another type.
with businesses as (
    select * from {{ source('foliopipe', 'businesses') }}
)

select
    account,
    businessname as business_name,
    address,
    city,
    state,
    zip,
    prediction_naics_code as naics_code,
    prediction_naics_title as naics_title,
    cast(prediction_confidence as double precision) as confidence,
    cast(prediction_answered_at as timestamp with time zone) as answered_at,
    -- False: last night's output has no prediction for this row, and this one is from an earlier night.
    prediction_status = 'SUCCESSFUL' as is_predicted_now,
    prediction_error_code as error_code
from businesses
where
    {% if var('predictions') == 'successful' %}
    prediction_status = 'SUCCESSFUL'
    {% else %}
    prediction_naics_code is not null
    {% endif %}
