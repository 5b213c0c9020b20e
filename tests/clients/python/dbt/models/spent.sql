{{ config(materialized='incremental', unique_key='customer_id') }}
select c.id as customer_id, c.name, coalesce(sum(p.amount), 0) as total, max(p.made) as latest
from {{ ref('customers') }} c left join {{ ref('staged_purchases') }} p on p.customer_id = c.id
{% if is_incremental() %}
where c.id in (select customer_id from {{ ref('staged_purchases') }} where made > '2024-04-01')
{% endif %}
group by c.id, c.name
