import type { Vocabulary } from './vocabulary.ts';

export const german: Vocabulary = {
  filler:
    'ander*, eingetragen, black friday, insgesamt, der, die, das, den, dem, des, ein, eine*, n, ne, nen, zu, zum, zur, in, im, ins, an, am, auf, aus, bei, beim, mit, für, fürs, über*, uebers, nach, wegen, is, ist, sind, bin, bist, sein, wird, werde*, hat, hab, habe*, hast, habt, gehabt, kann*, könn*, koenn*, soll*, muss*, darf, dürf*, möcht*, moecht*, will, willst, woll*, würd*, wuerd*, wäre, wären, mach*, ich, mir, mich, mein*, wir, uns, unser*, du, dir, dich, dein*, ihr, man, sich, jemand*, können sie, koennen sie, könnten sie, haben sie, wissen sie, da, drauf, dran, hin, so, ob, wenn, dann, dass, denn, aber, doch, nur, eben, mal, ma, bitte, mal schnell, schnell mal, kurz*, dank*, hallo, moin, na, guten morgen, guten tag, guten abend, morgen zusammen, zusammen, askwatch, bot, sag, sage*, sagt, erzähl*, weiß*, wissen, kenn*, seh*, sieht, siehts, schau, schaue*, guck*, gib, geb*, gibt, gibts, es gibt, brauch*, gern*, denk*, glaub*, lass, auch, ganz, wirklich, echt, noch, immer, schon, bereits, wieder, nochmal*, noch einmal, eigentlich, also, ja, nee, nein, entschuldig*, frage, fragen ob, wollte fragen, genau*, info, infos, information*, bescheid, sache, sachen, ding, dinge*, leute*, kunde, kunden, wo, wie, viel*, evtl, bestimmt, irgendwie, irgendwo, irgendwann, gar, dafür, dazu, dabei, scheint, bleibt, kommt, kommen, kam, steht, stehen, liegt, hilf*, sonst, mehr, mehrere*, einige*, gleich, bald, erst, ständig, fast, selbst, name*, unbedingt, dringend, von, vom, durch, pro, dauernd, fuer, ueber, oder, halt, dort, raus, rein, nutzer, ziemlich, anscheinend, sicher, möglich*, wohl, weniger, vg, servus, würden sie, erneut, beschwer*, kollegen, jmd, ansteht, anstehen, größer*, groß, große*, korrekt, rum, von der liste, aus der liste',
  general:
    'dein wochenende, dein tag, dein urlaub, meine rechnung, schreib*, erklär*, übersetz*, definier*, witz*, gedicht*, rezept*, rechne*, hauptstadt, was ist ein, was ist eine, was bedeut*, was heißt, was kostet ein*, wie kann ich, wie kann man, wie komm*, wie macht man, wie geht das, wie funktioniert ein*, unterschied*, wetter, essen, mittagessen, meeting*, termin*, anleitung*, code, sql, python, urlaub*, passwort*, stell dir vor, empfiehl*, empfehl*, wie gehts dir, wie geht es dir, wie läufts bei dir, wer bist du, schneller, schnellste*, wie stelle ich, wie schalte ich, wie pausiere ich, wie lösche ich',
  service:
    'monitor, monitore, monitoren, monitors, monitoring, überwachung*, überwacht*, dienst, dienste*, service, services, seite, seiten, webseite*, website*, site, sites, system*, server*, host, hosts, endpoint*, endpunkt*, app, apps, anwendung*, infra*, maschine*, target*, umgebung*, url, urls, produkt*',
  technical:
    'deploy*, staging, cluster*, datenbank*, database*, db, backup*, sicherung*, cron*, job, jobs, ssl, tls, dns, http, https, tcp, heartbeat*, port, ports, api, apis, schnittstelle*, domain*, netz*, login*, sync*, ping, einloggen',
  who: 'wer, wen, wem',
  which:
    'was, welch*, wer, wen, wem, zeig*, anzeigen, liste, list, auflist*, nenn*, aufzähl*, zähl auf, zähle auf, was geht nicht, was geht alles nicht, wie stelle ich, wie schalte ich, wie pausiere ich, wie lösche ich',
  why: 'warum, wieso, weshalb, woran, wie kommt*, wie kam*, ursache*, grund, gründe*, auslöser, verursacht*, weil, was ist passiert, was war los, was war da los, was war denn los, was ist schiefgelaufen, was stimmt nicht',
  when: 'wann, um wie viel uhr, uhrzeit, zeitpunkt, an welchem tag, welcher tag, bis wann, ab wann',
  duration:
    'seit wann, wie lang, seit wie lange, gedauert, länge, dauer, dauert, dauerte*, wielange, wieviel zeit',
  howOften: 'wie oft, wieoft, wie häufig, wie viele male, wie viel mal, häufigkeit',
  howMany: 'wie viel, wie viele, wie vielen, wieviel*, anzahl, zähl, zähle, menge',
  all: 'alles, alle, allen, allem, aller, jede, jeder, jedes, jeden, irgendwas, irgendwelche*, irgendein*, etwas, nichts, nix, keins, gesamt*, insgesamt, ganze, komplett*, beide, beiden, unsere monitore, unsere dienste, alles gut, alles klar, alles fit, alle an, alles an, stimmt alles, irgendetwas, überall, keiner, sämtliche*',
  not: 'nicht, nich, net, nie, niemals, kein, keine, keinen, keinem, ohne, außer, nicht pausier*, nicht lösch*, nicht entfern*, nicht stumm*',
  earlier: 'davor, das wochenende davor, tag davor, tag zuvor, vortag',
  except: 'nicht mitgezählt, bis auf, ohne, außer, abgesehen von',
  it: 'es, er, ihn, ihm, sie, seine*, davon, daran, damit, der da, die da, das da, dieser da, der hier, das hier, die hier, das ding, dasselbe, das wieder, das passiert, ists, war es, wars',
  also: 'und, was ist mit, und was ist mit, und wie siehts mit, und wie sieht es mit, ebenso, genauso, sowie, dasselbe für, das gleiche für, und wie ist es mit',
  past: 'war, waren, hatte*, wurde, wurden, worden, gewesen, gab, gabs, gab es, es gab, gegeben, ging, gingen, gings, lief, liefen, fiel, fielen, ist passiert, gelaufen, vorhin, war es, passierte',
  ok: 'ok, okay, in ordnung, gut, gesund*, läuft, laeuft, laufen, läufts, lief, liefen, gelaufen, geht, gehts, gehen, ging, gings, gingen, funktionier*, tut, tuts, klappt*, stabil*, grün, normal, einwandfrei, fehlerfrei, rund, alles klar, alles gut, alles fit, passt, fit, super, stimmt alles, gruen, funzt, passts',
  up: 'up, online, erreichbar, verfügbar, verfuegbar, zu erreichen, wieder da, am start, oben, live, zurück, wieder an, alle an, alles an, antwortet, reagiert, erholt, wiederhergestellt, behoben',
  down: 'betroffen*, down, offline, ausgefallen*, ausfällt, fiel, fielen, fällt, faellt, nicht erreichbar, nicht mehr erreichbar, nicht verfügbar, kaputt*, defekt*, gestört*, fehlgeschlagen*, schlägt fehl, scheitert*, fehler, error*, problem*, tot, weg, gestorben, abgestürzt*, stürzt ab, abgeschmiert*, abgekackt, abgeraucht, crash*, unten, runter, zusammengebrochen, hängt, spinnt, nicht ok, nicht online, nicht in ordnung, nicht da, geht nicht, geht nix, geht gar nicht, gehen nicht, ging nicht, nicht geht, läuft nicht, lief nicht, nicht läuft, funktioniert nicht, nicht funktionier*, funzt nicht, tut nicht, klappt nicht, antwortet nicht, reagiert nicht, keine antwort, rot, brennt*, im eimer, im arsch, schiefgelaufen, schiefgegangen, unerreichbar*, was geht nicht, was geht alles nicht, nicht zu erreichen, verreckt, hängen, spinnen, zickt, streikt, nicht okay, geht nich, geht nichts, läuft nich, gingen nicht, laufen nicht, funktionieren nicht, fehlermeldung*, gescheitert*, umgefallen, abgestuerzt*, ärger, muckt, gemuckt',
  degraded:
    'degraded, beeinträchtigt*, eingeschränkt*, warnung, warnungen, warning*, gelb*, überlastet',
  paused:
    'pausiert*, paused, auf pause, angehalten*, gestoppt*, ausgeschaltet*, abgeschaltet*, deaktiviert*, inaktiv*, in pause',
  maintenance: 'wartung*, gewartet*, maintenance, geplante arbeit*, geplante wartung*',
  flapping:
    'flap*, instabil*, wackel*, hin und her, hoch und runter, auf und ab, up und down, immer wieder down, immer wieder weg, ständig down, ständig weg, dauernd down, fällt immer wieder',
  status:
    'status*, lage, überblick*, übersicht*, stand, gesundheit*, zusammenfassung*, bericht*, report*, wie geht, wie geht es, wie gehts, wie läuft, wie läufts, wie lief, wie steht*, wie sieht, wie siehts, wie sieht es, sieht aus, aussieht, wie schaut*, wie ist, wie ist es, wie sind, wie war, wie wars, wie waren, was ist los, ist was los, los, was geht, was macht, wie es aussieht, zustand*, wie läuft es, wie laufen, wie stehen, aussehen, schaut aus, update',
  incident:
    'vorfäll*, ausfall, ausfälle*, ausfaelle*, incident*, outage*, unterbrechung*, aussetzer*, panne, passiert*, passieren, was war los, was war da los, was war denn los, gabs was, gabs irgendwas, gab es was, war was, war irgendwas, was ist passiert, schiefgelaufen, schiefgegangen, was ist schiefgelaufen, störung*, stoerung*, vorfaell*, absturz, abstürze*, auffälligkeit*, geschehen, ereignis*, gab es irgendwas',
  alert:
    'alert*, alarm*, benachrichtig*, meldung*, ausgelöst*, feuert, pager*, bereitschaft, übernommen, zuständig*, verantwortlich*',
  uptime:
    'uptime*, up time, verfügbarkeit*, erreichbarkeit*, zuverlässig*, wie verfügbar, sla, slo, prozent*, verfuegbarkeit*',
  downtime: 'downtime, down time, ausfallzeit*, ausfalldauer',
  response:
    'antwortzeit*, reaktionszeit*, ladezeit*, latenz*, latency, response*, performan*, geschwindigkeit*, schnell*, speed, ms, millisekunde*, durchschnitt*, mittlere*',
  slow: 'langsam*, lahm*, träge*, lagg*, lag, verzöger*, braucht lange, braucht so lange, nicht schnell, braucht ewig',
  certificate:
    'zertifikat*, cert, certs, läuft ab, laufen ab, lief ab, ablauf*, abgelaufen*, gültig*, erneuer*, verlängert, läuft aus, laufen aus, ungültig*',
  change:
    'änderung*, statuswechsel*, geändert*, ändert, verändert*, gewechselt, neues, was ist neu, neuigkeit*, news, tut sich, anders, geaendert*, aenderung*',
  newest:
    'neueste*, neuste*, jüngste*, hinzugefügt*, hinzugekommen, zuletzt hinzugefügt, angelegt*, erstellt*, eingerichtet*, neue monitore, neue dienste, neu dazu',
  address: 'url, adresse, link',
  help: 'was kannst du, was kann ich dich fragen, was kann der bot, was kann askwatch, was machst du',
  check:
    'geprüft*, gecheckt*, überprüft*, getestet*, prüfung*, überprüfung*, checks, ergebnis*, letzter check, letzten check, zuletzt geprüft, zuletzt gecheckt',
  interval:
    'interval*, frequenz*, takt, abstand, wie oft geprüft, wie oft gecheckt, wie oft prüfst, wie oft wird geprüft, wie oft checkst',
  run: 'läuft, laufen, lief, liefen, gelaufen, durchgelaufen, durchlaufen, ausgeführt*, fertig, abgeschlossen*, beendet, durch, durchgekommen, erfolg*, gemeldet, angekommen, gekommen, pünktlich, rechtzeitig, geschafft, lief durch, ging durch, gestartet, geklappt',
  here: 'hier, kanal, channel, abonnier*, ruhezeit*, erinnerung*, erwähn*',
  usage:
    'verbrauch*, token*, tokenbudget, gefragt, fragte*, fragen, nutzt*, benutz*, verwendet*, kosten, kostet*, genutzt, fragt, gekostet',
  worst:
    'schlechteste*, schlimmste*, wenigste*, unzuverlässig*, problemkind*, schlecht, sorgenkind*, schlechte',
  most: 'meiste*, häufigste*, höchste*, top',
  longest: 'längste*, größte*, schlimmster ausfall, schlimmste störung',
  compare:
    'langsamer, schneller, vergleich*, verglichen*, vs, besser*, schlechter, trend*, verbesser*, verschlechter*, als davor, als vorher, woche davor, vorwoche',
  than: 'als, vergleiche, vergleich, vs, im vergleich zu, verglichen mit, gegenüber',
  latest:
    'zuletzt, letztes mal, letzte mal, letzten mal, neuester vorfall, neueste vorfall, neuesten vorf*',
  watch:
    'überwach, überwache, überwachen, ueberwache, beobachte, im auge, hinzufügen, füge, hinzu, anlegen, erstelle, erstellen, richte, einrichten, track*, neuen monitor, beobachten, füg, ueberwachen, ein auge auf, leg, lege',
  pause:
    'pausier, pausiere, pausieren, pause, halt an, halte, stoppe, stoppen, deaktiviere, deaktivieren, schalte aus, schalt aus, ausschalten, abschalten, nicht mehr überwachen, nicht mehr prüfen, hör auf, stopp, anhalten, mach aus, mache aus, schalt ab, schalte ab, stell ab, stelle ab, trag ein, trage ein, plane eine wartung, wartung eintragen, wartung planen',
  resume:
    'fortsetz*, fort, setze fort, setz fort, resume, mach weiter, weiter überwachen, wieder überwachen, schalte ein, schalt ein, einschalten, aktiviere, aktivieren, reaktivier*, starte wieder, pause beenden, beende die pause, anschalten, wieder prüfen, weitermachen, mach an, mache an, schalt an, schalte an, nimm auf, nimm wieder auf',
  snooze:
    'stumm*, snooze*, mute, ruhe, still, keine alarme, keine alerts, keine benachrichtigung*, nicht benachrichtigen, nicht mehr alarmieren, nicht stören, nerv nicht, hör auf zu alarmieren, leise, nerv, keine meldung*',
  remove:
    'lösch*, loesch*, entfern, entferne, entfernen, nimm raus, wirf raus, schmeiß raus, delete, remove, schmeiss raus',
  acknowledge:
    'bestätig, bestätige, bestätigen, bestaetige, quittier*, ack, kümmere mich, kümmer mich, übernehme, übernehmen, bin dran, sind dran, arbeite dran, schau mir das an, habs gesehen, schau mir das an, ich schau, übernehm',
  test: 'prüf, prüfe, prüfen, pruefe, check, checke, checken, test, teste, testen, überprüf, überprüfe, überprüfen, schau nach, schau mal nach, nachsehen',
  rename:
    'umbenenn*, benenne, ändere den namen, neuen namen, namen ändern, name ändern, benenn, nenn um, nenne um',
  set: 'ändere, ändern, setz, setze, setzen, stell, stelle, stellen, erhöhe, senke, reduzier*, verkürze*, schalte, aktualisier*, änder, einstellen, erhöh, senk',
  every:
    'alle, jede, jeden, jedes, jeder, aller, je, einmal pro, einmal alle, pro, täglich, stündlich, minütlich, wöchentlich, intervall',
  as: 'als, namens, genannt, mit namen, unter dem namen, nenne es',
  now: 'jetzt, nun, grad, grade, gerade, derzeit*, aktuell*, momentan*, moment, zurzeit, sofort, offen*, laufend*, aktive',
  today: 'heut, heute, heutig*',
  yesterday: 'gestern, gestrig*',
  dayBefore: 'vorgestern',
  night: 'nacht, nachts, nächtlich*',
  morning: 'morgen, morgens, früh, frueh, vormittag*',
  afternoon: 'nachmittag*, mittag, mittags',
  evening: 'abend, abends',
  weekend: 'wochenend*',
  tomorrow: 'morgen',
  future: 'geplant*',
  next: 'nächst*, naechst*, kommende*, innerhalb',
  last: 'letzte, letzter, letzten, letztes, letztem, vergangen*, vorige*, vorherig*',
  this: 'diese, dieser, dieses, diesen, diesem',
  since: 'seit, seitdem, ab',
  until: 'bis, bis um, und',
  between: 'zwischen, zw, von, vom',
  ago: 'vor, her',
  at: 'um, gegen, circa, ca, rund um, herum',
  recently: 'kürzlich, neulich, letztens, letzter zeit, vor kurzem',
  ever: 'jemals, schon mal, schon einmal, seit beginn, bisher, aller zeiten',
  oclock: 'uhr',
  ordinal:
    'erste* | zweite* | dritte* | vierte* | fünfte* | sechste* | siebte* | achte, achten | neunte* | zehnte*',
  second: 'sekunde*, sek, sec, secs, s',
  minute: 'minute, minuten, min, mins, m',
  hour: 'stunde*, std, h',
  day: 'tag, tage, tagen, tages, d',
  week: 'woche, wochen, w, kw',
  month: 'monat, monate, monaten, monats',
  quarter: 'quartal*',
  year: 'jahr, jahre, jahren, jahres',
  weekdays:
    'sonntag* | montag*, mo | dienstag*, di | mittwoch* | donnerstag* | freitag*, fr | samstag*, sonnabend*, sa',
  months:
    'januar, jan | februar, feb | märz, maerz | april, apr | mai | juni, jun | juli, jul | august, aug | september, sep, sept | oktober, okt | november, nov | dezember, dez',
  numbers:
    '| eins | zwei, zwo | drei, paar, ein paar, n paar | vier | fünf, fuenf | sechs | sieben | acht | neun | zehn | elf | zwölf, zwoelf',
};
