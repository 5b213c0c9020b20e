// Go's sql driver for MySQL with text and prepared statements, transactions, cancelling and errors.
package clients

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

func open(t *testing.T, more string) *sql.DB {
	t.Helper()
	return openAs(t, os.Getenv("PELORUS_PASSWORD"), more)
}

func openAs(t *testing.T, password, more string) *sql.DB {
	t.Helper()
	dsn := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?parseTime=true&loc=UTC&timeout=60s%s", os.Getenv("PELORUS_USER"),
		password, os.Getenv("PELORUS_HOST"), os.Getenv("PELORUS_PORT"), os.Getenv("PELORUS_DATABASE"), more)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func rowCount(t *testing.T) int {
	t.Helper()
	count, err := strconv.Atoi(os.Getenv("PELORUS_ROWS"))
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func number(err error) uint16 {
	var found *mysql.MySQLError
	if errors.As(err, &found) {
		return found.Number
	}
	return 0
}

func TestTypes(t *testing.T) {
	// With arguments the driver prepares on the server; with interpolateParams it does not.
	for _, more := range []string{"", "&interpolateParams=true", "&tls=skip-verify", "&allowCleartextPasswords=false"} {
		t.Run("options "+more, func(t *testing.T) {
			db := open(t, more)
			var (
				name, price, span string
				weight            float64
				born, seen        time.Time
				big               uint64
				raw               []byte
				flag              bool
			)
			row := db.QueryRow("SELECT name, price, weight, born, seen, span, big, raw, flag FROM item WHERE id = ?", 1)
			if err := row.Scan(&name, &price, &weight, &born, &seen, &span, &big, &raw, &flag); err != nil {
				t.Fatal(err)
			}
			if name != "Grüße 😀" || price != "12.50" || weight != 0.25 || span != "12:30:01" ||
				big != 18446744073709551615 || string(raw) != "\x00\xff" || !flag {
				t.Fatal(name, price, weight, span, big, raw, flag)
			}
			if !born.Equal(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)) ||
				!seen.Equal(time.Date(2024, 2, 29, 12, 34, 56, 789012000, time.UTC)) {
				t.Fatal(born, seen)
			}
			var missing sql.NullString
			if err := db.QueryRow("SELECT price FROM item WHERE id = ?", 2).Scan(&missing); err != nil || missing.Valid {
				t.Fatal(missing, err)
			}
		})
	}
}

func TestColumnTypes(t *testing.T) {
	rows, err := open(t, "").Query("SELECT id, price, name, big FROM item WHERE id = ?", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	for at, wanted := range []string{"INT", "DECIMAL", "VARCHAR", "UNSIGNED BIGINT"} {
		if types[at].DatabaseTypeName() != wanted {
			t.Errorf("%s is %s, not %s", types[at].Name(), types[at].DatabaseTypeName(), wanted)
		}
	}
	if _, scale, ok := types[1].DecimalSize(); !ok || scale != 2 {
		t.Error("scale", scale, ok)
	}
	if nullable, ok := types[0].Nullable(); !ok || nullable {
		t.Error("id is nullable")
	}
}

func TestGroups(t *testing.T) {
	db := open(t, "")
	statement, err := db.Prepare("SELECT grp, count(*), sum(n) FROM many WHERE n > ? GROUP BY grp ORDER BY grp")
	if err != nil {
		t.Fatal(err)
	}
	defer statement.Close()
	for round := 0; round < 2; round++ {
		rows, err := statement.Query(0)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for rows.Next() {
			var group, count, sum int
			if err := rows.Scan(&group, &count, &sum); err != nil {
				t.Fatal(err)
			}
			if group != seen || count != rowCount(t)/10 {
				t.Fatal(group, count)
			}
			seen++
		}
		if rows.Err() != nil || seen != 10 {
			t.Fatal(rows.Err(), seen)
		}
	}
}

func TestBigResult(t *testing.T) {
	rows, err := open(t, "").Query("SELECT n, pad FROM many")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sum := 0
	for rows.Next() {
		var n int
		var pad string
		if err := rows.Scan(&n, &pad); err != nil {
			t.Fatal(err)
		}
		if len(pad) != n%100 {
			t.Fatal(n, pad)
		}
		sum += n
	}
	if wanted := rowCount(t) * (rowCount(t) + 1) / 2; rows.Err() != nil || sum != wanted {
		t.Fatal(rows.Err(), sum, wanted)
	}
}

func TestTransaction(t *testing.T) {
	db := open(t, "")
	transaction, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	result, err := transaction.Exec("INSERT INTO scratch VALUES (?, ?), (?, ?)", 901, "a", 902, "b")
	if err != nil {
		t.Fatal(err)
	}
	if changed, _ := result.RowsAffected(); changed != 2 {
		t.Fatal(changed)
	}
	var inside, outside int
	if err := transaction.QueryRow("SELECT count(*) FROM scratch WHERE id > ?", 900).Scan(&inside); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("SELECT count(*) FROM scratch WHERE id > ?", 900).Scan(&outside); err != nil {
		t.Fatal(err)
	}
	if inside != 2 || outside != 0 {
		t.Fatal(inside, outside)
	}
	if err := transaction.Rollback(); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsKeepTheConnection(t *testing.T) {
	db := open(t, "")
	db.SetMaxOpenConns(1)
	for statement, wanted := range map[string]uint16{
		"SELECT nope FROM item": 1054, "SELECT * FROM nope": 1146, "SELEC 1": 1064,
		"SELECT nope FROM item WHERE id = ?": 1054,
	} {
		var err error
		if statement[len(statement)-1] == '?' {
			_, err = db.Query(statement, 1)
		} else {
			_, err = db.Query(statement)
		}
		if number(err) != wanted {
			t.Errorf("%s: %v, not %d", statement, err, wanted)
		}
	}
	var count int
	if err := db.QueryRow("SELECT count(*) FROM item").Scan(&count); err != nil || count != 2 {
		t.Fatal(count, err)
	}
}

func TestWrongPassword(t *testing.T) {
	if err := openAs(t, "wrong", "").Ping(); number(err) != 1045 {
		t.Fatal(err)
	}
}

func TestCancel(t *testing.T) {
	db := open(t, "")
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	var count int
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM many a, many b WHERE SHA2(CONCAT(a.n, b.pad), 512) <> 'x'").Scan(&count)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := db.QueryRow("SELECT count(*) FROM item").Scan(&count); err != nil || count != 2 {
		t.Fatal(count, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	db := open(t, "")
	db.SetMaxOpenConns(20)
	var group sync.WaitGroup
	for at := 0; at < 100; at++ {
		group.Add(1)
		go func(at int) {
			defer group.Done()
			var sum int
			if err := db.QueryRow("SELECT ? + id FROM item WHERE id = 1", at).Scan(&sum); err != nil || sum != at+1 {
				t.Error(at, sum, err)
			}
		}(at)
	}
	group.Wait()
}
