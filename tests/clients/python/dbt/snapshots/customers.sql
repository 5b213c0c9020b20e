{% snapshot customer_history %}
{{ config(target_schema=target.schema, unique_key='id', strategy='check', check_cols=['name']) }}
select id, name from {{ ref('customers') }}
{% endsnapshot %}
