package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
	driver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

const (
	syncNormal = "normal"
	syncFull   = "full"

	driverName = "sqlite" // under which the server's SQLite driver is registered

	// applicationID marks a file as ours ("EVTN"), schemaVersion tells which tables are in it.
	applicationID = 0x4556544e
	schemaVersion = 1

	// maxChecked is the size up to which every page of a database is checked at start: about a tenth of a second.
	maxChecked = 64 << 20
)

// sqlConfig tells the server where its state is.
func sqlConfig(database, sync string) *config.SQL {
	if database == "" {
		return &config.SQL{
			PluginName:        sqliteplugin.PluginName,
			DatabaseName:      "devserver",
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}
	}
	return &config.SQL{
		PluginName:        sqliteplugin.PluginName,
		DatabaseName:      uriPath(database),
		ConnectAttributes: connectAttributes(sync),
	}
}

// connectAttributes are the URI parameters and pragmas of every connection to a database file.
func connectAttributes(sync string) map[string]string {
	return map[string]string{
		"mode":         "rw",
		"busy_timeout": "10000", // milliseconds
		"journal_mode": "wal",
		"synchronous":  sync,
	}
}

// uriPath escapes what has a meaning of its own in an SQLite URI.
func uriPath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// openDatabase opens a database file in the way the server does, apart from the server's own pool.
func openDatabase(path string, attributes map[string]string) (*sql.DB, error) {
	query := url.Values{}
	for key, value := range attributes {
		if key == "mode" {
			query.Set(key, value)
			continue
		}
		query.Add("_pragma", key+"="+value)
	}
	return sql.Open(driverName, "file:"+uriPath(path)+"?"+query.Encode())
}

// prepareDatabase makes sure that there is a sound database of ours at path, and creates one if there is nothing.
// The caller holds the lock of the file.
func prepareDatabase(ctx context.Context, path, sync string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode().IsRegular() && info.Size() == 0:
		if err := checkNoLog(path); err != nil {
			return err
		}
		if err := createDatabase(ctx, path); err != nil {
			return fmt.Errorf("create database %s: %w (check that its folder can be written, or choose another --db)", path, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("open database: %w (choose another --db)", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("database %s is not a file (choose another --db)", path)
	}
	return checkDatabase(ctx, path, sync, info.Size())
}

// checkNoLog makes sure that no write-ahead log waits at path for a database that is gone: SQLite would replay it into a
// new one, and whoever still has the old one needs it.
func checkNoLog(path string) error {
	info, err := os.Stat(path + "-wal")
	if err == nil && info.Size() > 0 {
		return fmt.Errorf("database %s is gone but its log %s-wal is there (put the database back, or remove the log to start with an empty one)", path, path)
	}
	return nil
}

// createDatabase builds the database under another name first, so that a half-built one is never found at path.
func createDatabase(ctx context.Context, path string) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// SQLite gives its side files the mode of the database; conversations are nobody else's business.
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		return err
	}
	defer os.Remove(temp) // fails once the file has its name
	if err := writeSchema(ctx, temp); err != nil {
		return err
	}
	if err := flush(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return flush(filepath.Dir(path))
}

func writeSchema(ctx context.Context, path string) (err error) {
	db, err := openDatabase(path, map[string]string{"mode": "rw", "journal_mode": "off", "synchronous": "off"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // fails once committed
	if err := sqlite.SetupSchemaOnDB(schemaWriter{ctx: ctx, tx: tx}); err != nil {
		return err
	}
	marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion)
	if _, err := tx.ExecContext(ctx, marks); err != nil {
		return err
	}
	return tx.Commit()
}

// schemaWriter is the part of an AdminDB that writing the schema needs. It lives as long as one transaction.
type schemaWriter struct {
	sqlplugin.AdminDB
	ctx context.Context
	tx  *sql.Tx
}

// Exec implements [sqlplugin.AdminDB].
func (w schemaWriter) Exec(statement string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, statement, args...)
	return err
}

// checkDatabase opens the database, which also recovers what a killed server left in its write-ahead log.
func checkDatabase(ctx context.Context, path, sync string, size int64) (err error) {
	db, err := openDatabase(path, connectAttributes(sync))
	if err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var application, version int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return openError(path, err)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return openError(path, err)
	}
	switch {
	case application != applicationID:
		return fmt.Errorf("database %s belongs to another program (choose another --db)", path)
	case version != schemaVersion:
		return fmt.Errorf("database %s has schema version %d, this program needs %d (use the devserver that made it, or choose another --db)", path, version, schemaVersion)
	case size > maxChecked:
		return nil
	}
	return checkPages(ctx, db, path)
}

func checkPages(ctx context.Context, db *sql.DB, path string) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return openError(path, err)
	}
	if verdict != "ok" {
		return damaged(path, errors.New(verdict))
	}
	return nil
}

func openError(path string, err error) error {
	var sqliteErr *driver.Error
	if errors.As(err, &sqliteErr) {
		switch sqliteErr.Code() & 0xff { // the rest of the code only refines it
		case sqlitelib.SQLITE_NOTADB, sqlitelib.SQLITE_CORRUPT:
			return damaged(path, err)
		case sqlitelib.SQLITE_BUSY:
			return fmt.Errorf("database %s is in use by another program: %w (end that program, or choose another --db)", path, err)
		}
	}
	return fmt.Errorf("open database %s: %w (check that it can be read and written, or choose another --db)", path, err)
}

func damaged(path string, err error) error {
	return fmt.Errorf("database %s is damaged: %w (restore a backup, or move it and its -wal file away to start with an empty one)", path, err)
}

// foldLog moves the write-ahead log into the database file, so that a stopped server leaves one file behind.
func foldLog(ctx context.Context, path, sync string) error {
	db, err := openDatabase(path, connectAttributes(sync))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
}

// flush makes a file or the entries of a folder durable.
func flush(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
