-- The reference queries, and relatives of them.

SELECT min(YearD), max(YearD) AS max_year, Carrier, count(*) AS cnt,
       sum(if(ArrDelayMinutes > 30, 1, 0)) AS flights_delayed,
       round(sum(if(ArrDelayMinutes > 30, 1, 0)) / count(*), 2) AS rate
FROM ontime
WHERE DayOfWeek NOT IN (6, 7)
  AND OriginState NOT IN ('AK', 'HI', 'PR', 'VI')
  AND DestState NOT IN ('AK', 'HI', 'PR', 'VI')
GROUP BY Carrier
HAVING cnt > 1000 AND max_year > '1990'
ORDER BY rate DESC, cnt DESC
LIMIT 10;
SELECT min(YearD), max(YearD) AS max_year, Carrier, count(*) AS cnt,
       sum(if(ArrDelayMinutes > 30, 1, 0)) AS flights_delayed,
       round(sum(if(ArrDelayMinutes > 30, 1, 0)) / count(*), 2) AS rate
FROM ontime
WHERE DayOfWeek NOT IN (6, 7)
  AND OriginState NOT IN ('AK', 'HI', 'PR', 'VI')
  AND DestState NOT IN ('AK', 'HI', 'PR', 'VI')
  AND (Origin = 'RDU' OR Dest = 'RDU')
GROUP BY Carrier
HAVING cnt > 100 AND max_year > '1990'
ORDER BY rate DESC, cnt DESC
LIMIT 10;
SELECT DayOfWeek, count(*) FROM ontime GROUP BY DayOfWeek;
-- unordered
SELECT Carrier, count(*) AS cnt FROM ontime GROUP BY Carrier ORDER BY cnt DESC LIMIT 10;
SELECT count(*) FROM ontime WHERE YearD = 2013 AND DayOfWeek = 7 AND OriginState = 'NC' AND DestState = 'NC';
SELECT max(id) FROM ontime;
SELECT avg(c1) FROM (SELECT YearD, count(*) AS c1 FROM ontime GROUP BY YearD) AS t;
SELECT YearD, c1 / c2 AS ratio FROM (SELECT YearD, count(*) * 100 AS c1 FROM ontime WHERE DepDelayMinutes > 10 GROUP BY YearD) a JOIN (SELECT YearD AS y, count(*) AS c2 FROM ontime GROUP BY YearD) b ON YearD = y ORDER BY YearD;
SELECT DayOfWeek, count(*) AS c FROM ontime WHERE YearD >= 2000 AND YearD <= 2008 GROUP BY DayOfWeek ORDER BY c DESC, DayOfWeek;
SELECT Origin, count(*) AS c FROM ontime WHERE DepDelayMinutes > 10 GROUP BY Origin ORDER BY c DESC LIMIT 10;
SELECT Carrier, avg(DepDelayMinutes > 10) * 1000 AS c3 FROM ontime WHERE YearD = 2007 GROUP BY Carrier ORDER BY c3 DESC, Carrier;
SELECT YearD, avg(DepDelayMinutes) FROM ontime GROUP BY YearD ORDER BY YearD;
SELECT Dest, count(DISTINCT Origin) AS u FROM ontime GROUP BY Dest ORDER BY u DESC, Dest LIMIT 10;
SELECT count(DISTINCT TailNum) FROM ontime;
SELECT min(FlightDate), max(FlightDate), count(FlightDate) FROM ontime;
SELECT YearD, MonthD, count(*) FROM ontime WHERE Carrier IN ('WN', 'DL') GROUP BY YearD, MonthD ORDER BY YearD, MonthD;
SELECT Carrier, Origin, count(*) c FROM ontime GROUP BY Carrier, Origin HAVING c > 500 ORDER BY c DESC, Carrier, Origin;
SELECT OriginState, DestState, sum(Distance), avg(Distance), max(ArrDelayMinutes) FROM ontime GROUP BY OriginState, DestState ORDER BY 1, 2;
SELECT count(*), count(ArrDelayMinutes), sum(Cancelled), sum(ArrDelayMinutes) FROM ontime;
SELECT * FROM ontime WHERE id BETWEEN 100 AND 120 ORDER BY id;
SELECT * FROM ontime ORDER BY Distance DESC, id LIMIT 5;
SELECT id, TailNum FROM ontime WHERE TailNum LIKE 'N1_0' ORDER BY TailNum, id LIMIT 20;
SELECT FlightDate, count(*) FROM ontime WHERE FlightDate BETWEEN '1999-01-01' AND '1999-03-31' GROUP BY FlightDate ORDER BY FlightDate;
SELECT QUARTER(FlightDate) q, Quarter, count(*) FROM ontime GROUP BY q, Quarter ORDER BY q, Quarter;
SELECT DATE_FORMAT(FlightDate, '%Y-%m') AS month, count(*) FROM ontime GROUP BY month ORDER BY month LIMIT 24;
SELECT CASE WHEN ArrDelayMinutes IS NULL THEN 'never' WHEN ArrDelayMinutes = 0 THEN 'good' WHEN ArrDelayMinutes < 60 THEN 'late' ELSE 'bad' END AS verdict, count(*) FROM ontime GROUP BY verdict ORDER BY verdict;
SELECT sum(ArrDelayMinutes) / sum(Distance) FROM ontime WHERE Carrier = 'WN';
SELECT Carrier, sum(Distance * 1.5) FROM ontime GROUP BY Carrier ORDER BY Carrier;
SELECT count(*) FROM ontime WHERE Carrier = 'wn';
SELECT count(*) FROM ontime WHERE YearD = '2013';
SELECT count(*) FROM ontime WHERE YearD > '2012x';
SELECT max(id), min(id) FROM ontime WHERE YearD = 2013;
SELECT Carrier, count(*) FROM ontime GROUP BY Carrier WITH ROLLUP;
