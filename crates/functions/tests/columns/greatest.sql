-- Columns of every type: greatest.
SELECT greatest(ti,si) FROM t;
SELECT greatest(dt,dtm) FROM t;
SELECT greatest(i,bu) FROM t;
SELECT greatest(i,d52) FROM t;
SELECT greatest(f,i) FROM t;
SELECT greatest(v10,'b') FROM t;
SELECT least(i,1) FROM t;
SELECT least(d52,f) FROM t;
SELECT least(v10,c10) FROM t;
SELECT least(dt,'2024-01-01') FROM t;
SELECT greatest(tm,tm2) FROM t;
SELECT greatest(i,'7') FROM t;
