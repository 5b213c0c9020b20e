{{ config(materialized='table') }}
with bought as (select date_format(made, '%Y-%m') as month, amount, customer_id from {{ ref('staged_purchases') }})
select month, count(*) as purchases, count(distinct customer_id) as customers, sum(amount) as total
from bought group by month
