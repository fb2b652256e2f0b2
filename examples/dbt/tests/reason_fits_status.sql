-- A row has a reason if, and only if, it has no prediction tonight.
select account, prediction_status, prediction_error_code
from {{ source('foliopipe', 'businesses') }}
where (prediction_status = 'SUCCESSFUL') = (prediction_error_code is not null)
