/** Defines the concepts; see `Vocabulary`. */
export const english = {
  filler:
    'a, an, or, in total, altogether, over, during, before, after, across, throughout, her, his, him, other, when i, when we, when they, when he, when she, when trying, theyre, youre, weve, black friday, cyber monday, done, anyone, anybody, cant, cannot, teh, client, clients, app, apps, doesnt need, anymore, any more, tomorrow, n, lol, haha, ugh, woke, just, the, of, for, on, in, to, by, with, is, are, am, be, do, does, can, could, would, should, shall, may, might, i, me, my, mine, we, us, our, ours, you, your, he, she, there, so, if, whether, then, but, just, please, pls, plz, kindly, thanks, thank you, thx, ty, cheers, hi, hello, hey, yo, good morning, askwatch, bot, tell, know, say, see, get, got, give, want, need, like, think, look, looking, let, lets, also, too, very, really, quite, still, already, yet, even, again, actually, anyway, btw, ok so, quick question, sorry, as, about, out, off, into, via, w, thing, things, stuff, someone, somebody, anybody, team, guys, folks, people, customers, users, im, ive, id, where, some, exactly, details, quick, quickly, info, information, wondering, curious, seems, seem, seeing, keep, keeps, heard, asking, help, any idea, fyi, called, named, wether, customer, user, complained, complains, complaining, couldnt, i mean, i meant, up to date, up to speed, have, has, having, mornin, gm, morning all, morning everyone, morning team, morning guys, morning folks, log, at all, only, asleep, slept, sleeping, hiya, heya, writing, post mortem, postmortem, start, instead, whatever, go, goes, missed, miss, midnight, noon, telling, says, wrong channel, wrong thread, wrong chat, wrong room, else',
  general:
    'write, explain, translate, define, summari*, compose, joke*, poem*, haiku*, recipe*, calculate, capital of, what is a, what is an, what does, what do, how do i, how do you, how to, how can i, how would, meaning, difference between, weather, lunch, dinner, movie, book, song, meeting, tutorial, code, regex, sql, python, javascript, holiday, vacation, password, invent, imagine, recommend*, suggest*, timesheet*, time sheet*, training, need a pause, take a pause, need a break, take a break, design, designs, redesign*, broke the build, breaks the build, commit, commits, pull request*, gotta run, gotta go, who can help, roll back, rollback, rolled back, redeploy*, reboot*, sell, sells, buy, salary, salaries, pension*, tax, taxes, how many people, in the news, watch this, watch the video, your weekend, your day, your holiday, my invoice, my payslip, paying us, get paid, got paid, meetings',
  service:
    'what do we monitor, what do we watch, what are we monitoring, what are we watching, what do you monitor, what do you watch, monitor, monitors, watched, monitored, service, services, site, sites, website*, web site, system, systems, server, servers, host, hosts, endpoint*, application*, infra, infrastructure, machine*, target*, prod, production, page, pages, url, product, products, component*, do we monitor, do you monitor, do we watch, do you watch, are we monitoring, are we watching, are you monitoring, are you watching',
  technical:
    'deploy*, release, backend, cluster*, database*, db, backup*, cron*, ssl, tls, dns, http, https, tcp, keyword, heartbeat*, port, ports, api, apis, login, staging, job, jobs, sync',
  who: 'who, whos, whom',
  which:
    'what do we monitor, what do we watch, what are we monitoring, what are we watching, what do you monitor, what do you watch, which one, which ones, wich, what, wat, whats, which, list, show, display, name, whose',
  why: 'why, reason for, cause, causes, caused, reason, reasons, how come, root cause, what happened, whats wrong, whats wrong with, because',
  when: 'when, what time, at what time, what date, which day',
  duration: 'since when, how long, for how long, how much time, duration',
  howOften:
    'how often, how many times, how frequently, times, only time, before that, more than once, several times, multiple times, repeatedly',
  howMany: 'how many, number of, count, how much, amount',
  all: 'everything, entire, anything, something, nothing, all, any, each, every monitor, every service, overall, total, whole, everyone, none, ones, which one, our monitors',
  not: 'not, no, isnt, arent, wasnt, werent, never, didnt, hasnt, doesnt, havent, wont, aint, dont',
  earlier:
    'before that, the weekend before, weekend before, weekend before that, week before that, the one before, the day before, day before that, previous day, the day before that',
  except:
    'skip, leave out, not including, minus, except, ignoring, ignore, not counting, leaving out, excluding, exclude, non, without, apart from, other than, aside from',
  it: 'it, its, that, that one, this one, them, they, those, these, their',
  also: 'and, what about, how about, and what about, same for, plus, how bout, what bout, same with',
  past: 'was, were, had, did, went, happened, has been, have been, been, what happened, acked, acknowledged',
  ok: 'ok, okay, fine, healthy, well, alright, all right, working, works, work, running, stable, good, operational, green, normal, in order, alive, happy, safe, all clear, smooth*, maintenance over, maintenance done, maintenance finished, behaving, behave',
  up: 'up, online, reachable, available, responding, accessible, live, recovered, back, back up, up and running, recover, recovers',
  down: 'something up, anything up, affected, impacted, down, offline, unreachable, unavailable, broken, broke, break, breaks, failing, failed, fail, fails, dead, crash*, not working, not up, not ok, not online, not reachable, not responding, died, problem*, issue*, trouble*, unhealthy, wrong, red, outage right now, go down, goes down, going down, went down, gone down, fell over, fall over, falls over, falling over, hiccup*, error*, borked, hanging, hung, stuck, timeout*, timing out, on fire, bust, ded, whats wrong, whats wrong with, cant reach, cant access, couldnt reach, couldnt access, wont load, doesnt load, isnt loading, not loading',
  degraded: 'degraded, impaired, warning*, limping, yellow',
  paused:
    'paused, disabled, stopped, turned off, switched off, on hold, inactive, suspended, unmonitored, not watched, not being watched, isnt being watched, not monitored, not being monitored, isnt being monitored, not checked, not being checked, isnt being checked',
  maintenance: 'maintenance, planned work, upkeep, maintenance window*',
  flapping:
    'flap*, unstable, flaky, up and down, up n down, going up and down, going up n down, keep going up and down, keeps going up and down, keep going up n down, keeps going up n down, bouncing, bounce*, on and off, keep going down, keeps going down, coming and going',
  status:
    'status*, state, states, overview, summary, situation, health, doing, going on, goin on, hows, how is, how are, look like, report, update, whats up with, condition, shape, how was, how were, whats the deal with, the deal with, any news on, any news about, catch me up, fill me in',
  incident:
    'anything known, known issues, known problems, incident*, outage*, downtimes, failure*, event*, disruption*, went wrong, interruption*, open incident*, open outage*, happen, happens, blip*, i should know, i should know about, i need to know about, did i miss, was there anything',
  alert: 'alert*, open alert*, alarm*, notification*, firing, fire, paging, paged, pages us',
  uptime: 'uptime*, up time, availability, sla, slo, percent*, reliab*, nines, 99',
  downtime:
    'downtime, down time, time down, worst monitor, worst monitors, worst site, worst sites, worst service, worst services',
  response:
    'response time*, latency, latencies, respon*, fast, quick to, speed*, performance, load time*, ms, millisecond*, ping time*, answer time*, responsive, average, mean',
  slow: 'slow*, sluggish, laggy, lagging, lag',
  certificate: 'certificate*, cert, certs, expir*, run out, runs out, renew*',
  change: 'changed, changes, whats new, different, happening, status change*',
  newest:
    'newest, added last, last added, created, recently added, new monitor*, new ones, was added, were added, added most recently',
  address: 'url, address, domain, link',
  help: 'what can you do, what can i ask, what can this bot do, what can the bot do, what can askwatch do, what do you do, what do you know',
  check:
    'checked, last check, checks, check result*, results, tested, probed, check history, last looked',
  interval:
    'interval*, frequency, how often checked, schedule*, how often do we check, how often do you check, how often you check, have to ping, has to ping, supposed to ping, expected to ping, supposed to run, have to run',
  run: 'run, ran, runs, execute*, finish*, complete*, succeed*, came in, come in, come through, came through, go through, go thru, gone through, gone thru, went through, went thru, thru, ping in, pinged, on time, successful*, report in, reported in, reports in, check in, checked in, checks in',
  here: 'this channel, in here, here, this room, subscri*, channel, quiet hours, reminder*, mentioned, we get here',
  usage:
    'usage, token*, token budget, asked the most, most questions, used the bot, used askwatch, cost*, spend, spent, how much did we ask, questions, asked, asks, used, uses',
  worst:
    'worst, lowest, least reliable, most unreliable, poorest, bad, least available, least stable, worst monitor, worst monitors, worst site, worst sites, worst service, worst services',
  most: 'most, top, best, max, highest, biggest number, more than once, several times, multiple times, repeatedly',
  longest: 'longest, biggest, largest, worst outage, worst incident',
  compare:
    'compared to, compared with, compare*, slower, faster, more, fewer, less, comparison, compared, versus, vs, better, worse, trend*, improv*, than the week before, week before, than before, than usual',
  than: 'than, compare, vs, versus, compared to, compared with',
  latest: 'latest, most recent, last time',
  watch:
    'watch, monitor, add, keep an eye on, track, observe, start watching, start monitoring, create',
  pause:
    'pause, stop checking, stop watching, stop monitoring, disable, suspend, turn off, switch off, out of monitoring, schedule maintenance, plan maintenance, schedule a maintenance, plan a maintenance, schedule maintenance window, set up maintenance, set up a maintenance, plan a maintenance window, schedule a maintenance window',
  resume:
    'resume, unpause, reactivate, enable, turn on, switch on, start checking, continue checking, resume checking',
  snooze:
    'snooze, silence, mute, tell nobody, dont tell anyone, notify nobody, dont notify, no notifications, shut up, quiet, shush, hush, stop alerting, stop alerts, no alerts, dont alert, be quiet, dont ping, do not ping, dont page, do not page, do not notify, do not alert, stop pinging, stop paging, remove alerts, remove all alerts, remove the alerts, delete alerts, delete all alerts, delete the alerts, clear the alerts',
  remove: 'remove, delete, drop, get rid of, unwatch, trash',
  acknowledge:
    'acknowledge, ack, im on it, i am on it, taking it, ill take, im looking at, i am looking into, im looking into, acked, acknowledged',
  test: 'check, poke, recheck, test, retest, probe, verify, check again, run a check',
  rename: 'rename, change the name of, change name of',
  set: 'change, set, adjust, modify, make, lower, raise, increase, decrease, switch, update the interval, reduce',
  every: 'every, hourly, daily, each, once a, once every, once per, per',
  as: 'as, called, named, call it, name it, under the name',
  now: 'now, right now, currently, at the moment, at present, presently, atm, rn, just now, at this moment, current, ongoing, active, still open, are open, open incident*, open outage*, open alert*',
  today: 'today, todays',
  yesterday: 'yesterday, yesterdays',
  dayBefore: 'the day before yesterday, day before yesterday',
  night: 'night, nite, overnight, overnite, nights',
  morning: 'morning, mornings',
  afternoon: 'afternoon',
  evening: 'evening',
  weekend: 'weekend, weekends',
  tomorrow: 'tmrw, tmr, tmw, tomorrow',
  future: 'will, gonna, tonight, scheduled, planned, upcoming',
  next: 'next, coming, upcoming, within',
  last: 'last, past, previous, prior',
  this: 'this',
  since: 'since, from, starting',
  until: 'until, till, to, through, and, til',
  between: 'between',
  ago: 'ago',
  at: 'at, around, about',
  recently: 'recently, lately, recent',
  ever: 'ever, all time, so far',
  oclock: 'oclock',
  ordinal: 'first | second | third | fourth | fifth | sixth | seventh | eighth | ninth | tenth',
  second: 'second, seconds, sec, secs, s',
  minute: 'minute, minutes, min, mins, m',
  hour: 'hour, hours, hr, hrs, h',
  day: 'day, days, d',
  week: 'week, weeks, w, wk',
  month: 'month, months',
  quarter: 'quarter, quarters',
  year: 'year, years',
  weekdays:
    'sunday, sundays, sun | monday, mondays, mon | tuesday, tuesdays, tue, tues | wednesday, wednesdays, wed | thursday, thursdays, thu, thurs | friday, fridays, fri | saturday, saturdays, sat',
  months:
    'january, jan | february, feb | march, mar | april, apr | may | june, jun | july, jul | august, aug | september, sep, sept | october, oct | november, nov | december, dec',
  numbers:
    '| one | two, couple of | three, few | four | five | six | seven | eight | nine | ten | eleven | twelve',
};
