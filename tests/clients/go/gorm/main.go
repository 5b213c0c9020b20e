// GORM: AutoMigrate and what it reads of a schema, models, associations, transactions. Prints a line of
// JSON for each step, so that what it found on a server can be compared with what it found elsewhere.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// Customer has most kinds of columns that GORM makes.
type Customer struct {
	ID       uint       `gorm:"primaryKey"`
	Name     string     `gorm:"size:60;not null;index:by_name,priority:1"`
	Email    *string    `gorm:"size:190;uniqueIndex"`
	Active   bool       `gorm:"not null;default:true"`
	Born     *time.Time `gorm:"type:date;index:by_name,priority:2"`
	Balance  float64    `gorm:"type:decimal(12,2);check:balance > -1000"`
	Note     string     `gorm:"type:text;comment:what we know"`
	Orders   []Order
	Labels   []Label        `gorm:"many2many:customer_labels"`
	Address  Address        `gorm:"embedded;embeddedPrefix:address_"`
	Settings map[string]any `gorm:"serializer:json;type:json"`
}

// Address is embedded.
type Address struct {
	City string  `gorm:"size:40"`
	Zip  *string `gorm:"size:10"`
}

// Order belongs to a customer and is deleted softly.
type Order struct {
	ID         uint64    `gorm:"primaryKey"`
	CustomerID uint      `gorm:"not null;index"`
	Customer   *Customer `gorm:"constraint:OnDelete:CASCADE"`
	Amount     float64   `gorm:"type:decimal(10,2)"`
	Weight     float64
	Made       time.Time `gorm:"precision:6;index:by_made"`
	Raw        []byte    `gorm:"size:16"`
	Count      int16
	DeletedAt  gorm.DeletedAt `gorm:"index"`
}

// Label is shared between customers.
type Label struct {
	Word string `gorm:"primaryKey;size:20"`
}

// Wider is Customer with a column more and one that is longer.
type Wider struct {
	ID      uint   `gorm:"primaryKey"`
	Name    string `gorm:"size:80;not null"`
	Country string `gorm:"size:2;not null;default:gb"`
}

// TableName makes it the same table.
func (Wider) TableName() string { return "customers" }

var made = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func show(what string, found any) {
	text, err := json.Marshal(found)
	check(err)
	fmt.Printf("%s: %s\n", what, text)
}

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		panic(err)
	}
}

func number(err error) any {
	var found *driver.MySQLError
	if errors.As(err, &found) {
		return found.Number
	}
	return fmt.Sprint(err)
}

func schema(db *gorm.DB) {
	models := []any{&Customer{}, &Order{}, &Label{}}
	check(db.AutoMigrate(models...))
	var asked []string
	counting := db.Session(&gorm.Session{Logger: recorder{Interface: logger.Discard, asked: &asked}})
	check(counting.AutoMigrate(models...))
	var changes []string
	for _, sql := range asked {
		if sql[:5] == "ALTER" || sql[:6] == "CREATE" {
			changes = append(changes, sql)
		}
	}
	show("a second AutoMigrate changes", changes)
	check(db.AutoMigrate(&Wider{}))
	m := db.Migrator()
	tables, err := m.GetTables()
	check(err)
	sort.Strings(tables)
	show("tables", tables)
	show("database", m.CurrentDatabase() == os.Getenv("PELORUS_DATABASE"))
	show("has", []bool{m.HasTable(&Customer{}), m.HasTable("nothing"), m.HasColumn(&Customer{}, "Name"),
		m.HasColumn(&Customer{}, "nothing"), m.HasIndex(&Customer{}, "by_name"), m.HasIndex(&Customer{}, "nothing"),
		m.HasConstraint(&Customer{}, "Orders"), m.HasConstraint(&Customer{}, "nothing")})
	for _, model := range models {
		types, err := m.ColumnTypes(model)
		check(err)
		var found []any
		for _, one := range types {
			full, _ := one.ColumnType()
			length, _ := one.Length()
			precision, scale, _ := one.DecimalSize()
			nullable, _ := one.Nullable()
			key, _ := one.PrimaryKey()
			unique, _ := one.Unique()
			counts, _ := one.AutoIncrement()
			usual, has := one.DefaultValue()
			comment, _ := one.Comment()
			found = append(found, []any{one.Name(), one.DatabaseTypeName(), full, length, precision, scale, nullable,
				key, unique, counts, usual, has, comment, fmt.Sprint(one.ScanType())})
		}
		show(fmt.Sprintf("columns of %T", model), found)
		indexes, err := m.GetIndexes(model)
		check(err)
		var keys []string
		for _, one := range indexes {
			key, _ := one.PrimaryKey()
			unique, _ := one.Unique()
			keys = append(keys, fmt.Sprint(one.Name(), one.Columns(), key, unique))
		}
		sort.Strings(keys)
		show(fmt.Sprintf("indexes of %T", model), keys)
		kind, err := m.TableType(model)
		check(err)
		comment, _ := kind.Comment()
		show("table", []any{kind.Name(), kind.Type(), comment})
	}
	check(m.AddColumn(&Extra{}, "More"))
	check(m.RenameColumn(&Extra{}, "more", "renamed"))
	check(m.DropColumn(&Extra{}, "renamed"))
	check(m.DropIndex(&Order{}, "by_made"))
	check(m.CreateIndex(&Order{}, "Made"))
	check(m.RenameIndex(&Order{}, "by_made", "by_moment"))
	check(m.RenameTable("labels", "words"))
	check(m.RenameTable("words", "labels"))
}

// Extra is Order with a column that is added and dropped again.
type Extra struct {
	ID   uint64 `gorm:"primaryKey"`
	More string `gorm:"size:10"`
}

// TableName makes it the same table.
func (Extra) TableName() string { return "orders" }

type recorder struct {
	logger.Interface
	asked *[]string
}

func (r recorder) LogMode(logger.LogLevel) logger.Interface { return r }

func (r recorder) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	sql, _ := statement()
	*r.asked = append(*r.asked, sql)
}

func write(db *gorm.DB) {
	email := "ada@example.com"
	born := time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC)
	ada := Customer{Name: "Ada", Email: &email, Active: true, Born: &born, Address: Address{City: "London"},
		Settings: map[string]any{"b": "x"}, Labels: []Label{{"old"}, {"red"}},
		Orders: []Order{{Amount: 1.5, Made: made}, {Amount: 2.25, Made: made}}}
	check(db.Create(&ada).Error)
	show("keys", []any{ada.ID, ada.Orders[1].ID})
	others := []Customer{{Name: "Grüße 😀", Labels: []Label{{"old"}}}, {Name: "none", Balance: 12.5}}
	check(db.Create(&others).Error)
	var orders []Order
	for at := 0; at < 150; at++ {
		orders = append(orders, Order{CustomerID: uint(1 + at%2), Amount: float64((at*137)%1000) / 4,
			Weight: float64(at) / 8, Made: made.Add(time.Duration(at) * 25 * time.Hour), Raw: []byte{byte(at), 0, 255},
			Count: int16(at)})
	}
	check(db.CreateInBatches(&orders, 60).Error)
	show("duplicate", number(db.Create(&Customer{Name: "x", Email: &email}).Error))
	show("no parent", number(db.Create(&Order{CustomerID: 99, Made: made}).Error))
	show("not checked", number(db.Create(&Customer{Name: "x", Balance: -2000}).Error))
	check(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns(
		[]string{"name"})}).Create(&Customer{ID: ada.ID, Name: "Ada L", Email: &email}).Error)
	check(db.Clauses(clause.OnConflict{DoNothing: true}).Create(&[]Label{{"old"}, {"blue"}}).Error)
	var found Customer
	check(db.Where(Customer{Name: "found"}).Attrs(Customer{Note: "made"}).FirstOrCreate(&found).Error)
	check(db.Where(Customer{Name: "found"}).Assign(Customer{Note: "changed"}).FirstOrCreate(&found).Error)
	show("first or created", []any{found.ID, found.Note})
	found.Balance = 7
	check(db.Save(&found).Error)
	done := db.Model(&Order{}).Where("amount < ?", 20).Updates(map[string]any{"count": gorm.Expr("count + ?", 1), "weight": 0})
	check(done.Error)
	show("updated", done.RowsAffected)
	check(db.Model(&ada).Association("Labels").Append(&Label{"new"}))
	check(db.Model(&ada).Association("Labels").Delete(&Label{"red"}))
	show("labels", db.Model(&ada).Association("Labels").Count())
	show("softly deleted", db.Delete(&Order{}, "id > ?", 150).RowsAffected)
	show("deleted", db.Unscoped().Delete(&Order{}, 149).RowsAffected)
	err := db.Transaction(func(tx *gorm.DB) error {
		check(tx.Create(&Customer{Name: "in a transaction"}).Error)
		inner := tx.Transaction(func(tx *gorm.DB) error {
			check(tx.Create(&Customer{Name: "in a savepoint"}).Error)
			return errors.New("back")
		})
		show("inner", fmt.Sprint(inner))
		var held []Order
		check(tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Find(&held, []int{1, 2}).Error)
		show("held", len(held))
		return nil
	})
	check(err)
	err = db.Transaction(func(tx *gorm.DB) error {
		check(tx.Unscoped().Where("1 = 1").Delete(&Order{}).Error)
		return errors.New("all back")
	})
	show("outer", fmt.Sprint(err))
}

func read(db *gorm.DB) {
	var customers []Customer
	check(db.Preload("Orders", func(db *gorm.DB) *gorm.DB { return db.Order("id").Limit(3) }).
		Preload("Labels", func(db *gorm.DB) *gorm.DB { return db.Order("word") }).Order("id").Find(&customers).Error)
	show("customers", customers)
	var one Order
	check(db.First(&one, 7).Error)
	show("first", one)
	check(db.Last(&one).Error)
	show("last", one.ID)
	show("nothing", errors.Is(db.First(&Order{}, 7777).Error, gorm.ErrRecordNotFound))
	var joined []Order
	check(db.Joins("Customer").Where("orders.amount > ?", 240).Order("orders.id").Find(&joined).Error)
	for _, order := range joined {
		show("joined", []any{order.ID, order.Amount, order.Customer.Name})
	}
	var groups []struct {
		Name  string
		N     int64
		Total float64
		Mean  float64
	}
	check(db.Model(&Order{}).Select("c.name, COUNT(*) AS n, SUM(amount) AS total, AVG(weight) AS mean").
		Joins("JOIN customers c ON c.id = orders.customer_id").Group("c.name").Having("COUNT(*) > ?", 1).
		Order("total DESC").Scan(&groups).Error)
	show("groups", groups)
	var count int64
	check(db.Model(&Order{}).Where(db.Where("count BETWEEN ? AND ?", 10, 20).Or("raw IS NULL")).Count(&count).Error)
	show("count", count)
	check(db.Model(&Order{}).Distinct("customer_id").Count(&count).Error)
	show("distinct", count)
	check(db.Unscoped().Model(&Order{}).Where("deleted_at IS NOT NULL").Count(&count).Error)
	show("deleted", count)
	var names []string
	check(db.Model(&Customer{}).Where("id IN (?)", db.Model(&Order{}).Select("customer_id").Where("amount > 240")).
		Order("name").Pluck("name", &names).Error)
	show("subquery", names)
	check(db.Model(&Customer{}).Where("EXISTS (?)", db.Model(&Order{}).Select("1").
		Where("orders.customer_id = customers.id AND count > 100")).Order("name").Pluck("name", &names).Error)
	show("exists", names)
	check(db.Where("name LIKE ?", "%a%").Where(map[string]any{"active": true}).Not("id = ?", 3).Order("id").
		Find(&customers).Error)
	show("like", len(customers))
	var page []Order
	check(db.Select("id", "made").Order("made DESC, id").Limit(3).Offset(4).Find(&page).Error)
	show("page", page)
	sum := uint64(0)
	var batch []Order
	check(db.FindInBatches(&batch, 40, func(*gorm.DB, int) error {
		for _, order := range batch {
			sum += order.ID
		}
		return nil
	}).Error)
	show("batches", sum)
	rows, err := db.Model(&Order{}).Select("id").Order("id").Rows()
	check(err)
	ids := 0
	for rows.Next() {
		ids++
	}
	check(rows.Close())
	show("rows", ids)
	var raw []map[string]any
	check(db.Raw("SELECT DATE_FORMAT(made, '%Y-%m') AS month, COUNT(*) AS n FROM orders WHERE count > @least "+
		"GROUP BY month ORDER BY month", map[string]any{"least": 5}).Scan(&raw).Error)
	show("raw", raw)
	check(db.Table("(?) AS small", db.Model(&Order{}).Select("customer_id, amount").Where("amount < 100")).
		Select("customer_id, MAX(amount) AS most").Group("customer_id").Order("customer_id").Find(&raw).Error)
	show("derived", raw)
	var ranked []struct {
		ID uint64
		R  int64
	}
	check(db.Raw("SELECT id, RANK() OVER (PARTITION BY customer_id ORDER BY amount) AS r FROM orders ORDER BY id LIMIT 8").
		Scan(&ranked).Error)
	show("ranked", ranked)
}

func main() {
	dsn := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?charset=utf8mb4&parseTime=true&loc=UTC&timeout=60s",
		os.Getenv("PELORUS_USER"), os.Getenv("PELORUS_PASSWORD"), os.Getenv("PELORUS_HOST"),
		os.Getenv("PELORUS_PORT"), os.Getenv("PELORUS_DATABASE"))
	config := &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)}
	for _, prepares := range []bool{false, true} {
		config.PrepareStmt = prepares
		db, err := gorm.Open(mysql.Open(dsn), config)
		check(err)
		if os.Args[1] == "write" && !prepares {
			schema(db)
			write(db)
		}
		read(db)
	}
}
