# Active Record, Rails' database layer: migrations with their lock, what it reads of a schema, the schema
# that it dumps, models, transactions. Prints a line of JSON for each step.

require "active_record"
require "json"
require "stringio"

def show(what, found)
  puts "#{what}: #{JSON.generate(found)}"
end

ActiveRecord::Base.establish_connection(
  adapter: "mysql2", host: ENV["PELORUS_HOST"], port: ENV["PELORUS_PORT"].to_i, username: ENV["PELORUS_USER"],
  password: ENV["PELORUS_PASSWORD"], database: ENV["PELORUS_DATABASE"], encoding: "utf8mb4", pool: 4,
  prepared_statements: true
)
ActiveRecord::Base.default_timezone = :utc
ActiveRecord::Migration.verbose = false

class Customer < ActiveRecord::Base
  has_many :orders
  # A MariaDB has no type JSON of its own.
  attribute :settings, :json
  has_and_belongs_to_many :labels
  validates :name, presence: true
end

class Order < ActiveRecord::Base
  belongs_to :customer, counter_cache: true
end

class Label < ActiveRecord::Base
end

class CreateTables < ActiveRecord::Migration[6.1]
  def change
    create_table :customers, comment: "who buys" do |t|
      t.string :name, limit: 60, null: false, index: true
      t.string :email, index: { unique: true }
      t.boolean :active, null: false, default: true
      t.integer :orders_count, null: false, default: 0
      t.json :settings
      t.date :born
    end
    create_table :orders do |t|
      t.references :customer, null: false, foreign_key: { on_delete: :cascade }
      t.decimal :amount, precision: 10, scale: 2
      t.float :weight
      t.datetime :made, precision: 6
      t.time :at
      t.text :note
      t.binary :raw, limit: 16
      t.integer :lock_version, null: false, default: 0
      t.index [:made, :customer_id], name: "by_made"
      t.check_constraint "weight >= 0", name: "has_weight"
    end
    create_table(:labels) { |t| t.string :word, limit: 20 }
    create_join_table(:customers, :labels)
  end
end

class ChangeTables < ActiveRecord::Migration[6.1]
  def change
    add_column :orders, :state, :string, limit: 10, default: "new"
    rename_column :orders, :note, :remark
    add_index :orders, :state
    reversible { |way| way.up { execute "UPDATE orders SET state = 'old'" } }
  end
end

MIGRATIONS = [[1, CreateTables], [2, ChangeTables]].map do |version, kind|
  ActiveRecord::MigrationProxy.new(kind.name, version, __FILE__, "").tap do |proxy|
    proxy.define_singleton_method(:migration) { @migration ||= kind.new(kind.name, version) }
  end
end

def migrate(direction, target = nil)
  ActiveRecord::Migrator.new(direction, MIGRATIONS, ActiveRecord::SchemaMigration, target)
end

def schema
  ActiveRecord::SchemaMigration.create_table
  ActiveRecord::InternalMetadata.create_table
  show "pending", migrate(:up).pending_migrations.map(&:version)
  migrate(:up).migrate
  migrate(:down, 1).migrate
  show "version", migrate(:up).current_version
  # Another that migrates holds the lock: Rails says so.
  migrate(:up, 2).migrate
  show "pending now", migrate(:up).pending_migrations.map(&:version)
  connection = ActiveRecord::Base.connection
  show "tables", connection.tables.sort
  %w[customers orders].each do |table|
    columns = connection.columns(table).map do |one|
      [one.name, one.sql_type, one.type, one.null, one.default, one.default_function, one.limit, one.precision,
       one.scale, one.collation, one.comment]
    end
    show "columns of #{table}", columns
    show "indexes of #{table}", connection.indexes(table).map { |one| [one.name, one.columns, one.unique] }.sort
    show "keys of #{table}", connection.foreign_keys(table).map { |one| [one.from_table, one.to_table, one.options[:on_delete]] }
    show "checks of #{table}", connection.check_constraints(table).map { |one| [one.name, one.expression] }
    show "key of #{table}", [connection.primary_keys(table), connection.table_comment(table)]
  end
  show "there", [connection.table_exists?("orders"), connection.table_exists?("nothing"), connection.column_exists?("orders", "state")]
  out = StringIO.new
  ActiveRecord::SchemaDumper.dump(connection, out)
  out.string.each_line(chomp: true) { |line| show("dumped", line) unless line.start_with?("#") || line.empty? }
  [Customer, Order, Label].each(&:reset_column_information)
end

def locks
  first = ActiveRecord::Base.connection
  second = Thread.new { ActiveRecord::Base.connection.get_advisory_lock("rails", 0) }
  show "free", second.value
  show "held", first.get_advisory_lock("rails", 0) || "by the other"
  ActiveRecord::Base.connection_pool.reap
  ActiveRecord::Base.clear_all_connections!
  show "released", ActiveRecord::Base.connection.get_advisory_lock("again", 1) &&
                   ActiveRecord::Base.connection.release_advisory_lock("again")
end

def write
  ada = Customer.create!(name: "Ada", email: "ada@example.com", born: "1815-12-10", settings: { b: "x" })
  Customer.create!(name: "Grüße 😀", active: false)
  Customer.create!(name: "none")
  show "key", ada.id
  made = Time.utc(2026, 1, 2, 3, 4, 5, 678_901)
  Order.insert_all((0...120).map do |at|
    { customer_id: 1 + at % 2, amount: (at * 137) % 1000 / 4.0, weight: at / 8.0, made: made + at * 90_000,
      at: "#{at % 24}:30:00", remark: at % 3 == 0 ? "note #{at}" : nil, raw: [at, 0, 255].pack("C*") }
  end)
  Customer.find_each { |one| Customer.reset_counters(one.id, :orders) }
  ada.labels << [Label.create!(word: "old"), Label.create!(word: "red")]
  [["a duplicate", -> { Customer.create!(name: "x", email: "ada@example.com") }],
   ["no parent", -> { Order.insert_all!([{ customer_id: 99, weight: 1 }]) }],
   ["not checked", -> { Order.create!(customer: ada, weight: -1) }],
   ["too long", -> { Customer.create!(name: "x" * 61) }]].each do |what, work|
    work.call
    show what, "no error"
  rescue ActiveRecord::StatementInvalid => error
    show what, [error.class.name, error.cause.error_number]
  end
  Customer.upsert_all([{ id: 1, name: "Ada L", email: "ada@example.com" }])
  show "found or made", [Customer.find_or_create_by!(name: "found").id, Customer.find_or_create_by!(name: "found").id]
  show "updated", Order.where("amount < ?", 20).update_all("weight = weight + 1")
  show "deleted", Order.where(id: 119..).delete_all
  mine = Order.find(5)
  theirs = Order.find(5)
  mine.update!(state: "paid")
  begin
    theirs.update!(state: "sent")
    show "lost", "no error"
  rescue ActiveRecord::StaleObjectError => error
    show "not lost", error.class.name
  end
  Customer.transaction(isolation: :read_committed) do
    Customer.create!(name: "in a transaction")
    Customer.transaction(requires_new: true) do
      Customer.create!(name: "in a savepoint")
      raise ActiveRecord::Rollback
    end
    show "locked", [Order.lock.find(1).id, Order.lock("FOR UPDATE SKIP LOCKED").where(id: 2..3).count]
  end
  Customer.transaction do
    Order.delete_all
    raise ActiveRecord::Rollback
  end
  show "rolled back", Order.count
end

def read
  show "customers", Customer.order(:id).includes(:labels).map { |one| [one.attributes, one.labels.map(&:word).sort] }
  order = Order.find(7)
  show "order", [order.amount, order.weight, order.made.iso8601(6), order.at.to_s, order.raw.unpack1("H*"), order.remark]
  show "first and last", [Order.first.id, Order.last.id, Order.second.id, Order.find_by(state: "paid")&.id]
  show "numbers", [Order.count, Order.sum(:amount), Order.average(:weight).to_s, Order.minimum(:made), Order.maximum(:remark),
                   Order.distinct.count(:customer_id)]
  show "groups", Order.joins(:customer).group("customers.name").order("customers.name").having("COUNT(*) > 1")
                      .pluck("customers.name", Arel.sql("COUNT(*)"), Arel.sql("SUM(amount)"))
  show "grouped count", Order.group(:customer_id).count.sort
  show "joined", Order.includes(:customer).references(:customer).where("customers.active = ?", false).order(:id).limit(3)
                      .map { |one| [one.id, one.customer.name] }
  show "left", Customer.left_joins(:orders).where(orders: { id: nil }).order(:id).pluck(:name)
  show "missing", Customer.where.missing(:orders).order(:id).pluck(:name)
  show "subquery", Customer.where(id: Order.where("amount > 240").select(:customer_id)).order(:id).pluck(:name)
  show "exists", [Order.exists?(4), Order.exists?(4444), Order.where(id: 1).any?, Order.none?]
  show "or", Order.where(id: [1, 2]).or(Order.where(weight: 14..14.3)).where.not(remark: nil).order(:id).pluck(:id)
  show "page", Order.order(made: :desc, id: :asc).offset(5).limit(4).ids
  show "batches", Order.in_batches(of: 50).sum { |part| part.sum(:id) }
  show "months", Order.group(Arel.sql("DATE_FORMAT(made, '%Y-%m')")).order(Arel.sql("DATE_FORMAT(made, '%Y-%m')")).count.to_a
  show "select all", ActiveRecord::Base.connection.select_all("SELECT id, amount FROM orders ORDER BY id LIMIT 2").to_a
  show "explain", Order.where(id: 1).explain.include?("EXPLAIN")
end

if ARGV[0] == "write"
  schema
  locks
  write
end
read
