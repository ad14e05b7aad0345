import type { Vocabulary } from './vocabulary.ts';

export const spanish: Vocabulary = {
  filler:
    'seguridad, q, inicio, black friday, en total, recibe, recibimos, recibo, la, los, las, un, una, unos, unas, en, con, para, por, dentro, es, son, eres, ser, sea, están, estoy, estamos, estar, hay, haya, he, has, ha, han, hemos, haber, tengo, tiene*, tener, tenga, pued*, podemos, poder, debe*, quier*, necesit*, me gustaría, haz, hacer, da, dar, dame, di, dime, decir*, dice, ver, veo, ve, mira, mirar, sabe*, sé, yo, vos, usted*, nosotros, me, te, nos, os, mi, mis, tu, tus, nuestr*, alguien, si, o, u, pero, pues, entonces, así, dónde, es que, ya que, hay que, muy, mucho*, mucha*, poco, solo, solamente, también, aún, todavía, ya, siempre, otra, otro, otras, otros, de nuevo, mismo, misma, tal, hola, hola que tal, buenas, buenos días, buen día, buenas tardes, buenas noches, bueno, buen, oye, oiga, che, gracias, porfa*, favor, perdón, perdona, dale, gente, cliente*, usuario*, askwatch, bot, pregunta, duda, consulta, cosa, cosas, vez, detalle*, info, información, exact*, justo, a ver, al menos, sigue*, parece*, ayuda*, por cierto, respecto a, durante, ahí, no más, le, les, nombre, digo, pauses, silencies, borres, elimines, quites, de, del, el, al, a, como, está, esté, creo, decime, cuéntame, sobre, quisiera, tengo que, tiene que, tienes que, tenemos, antes, después, luego, claro, vale, bastante, casi, tan, tanto, creo que, parece que, para que, mientras, danos, dinos, quizás, vemos, saludos, urgente, tema, según, queremos, podrí*, equipo, chicos, chicas, compañeros, perdonad, móvil, mil gracias, quej*, montón, refería, refiero, quise decir, quería decir, que vamos, que voy, que estoy, que estamos de, que estamos haciendo, que estamos desplegando, desplegar, desplegando, grande, grandes, gran, verdad, de verdad, cierto, llevamos, que estamos trabajando, que estamos migrando, que estamos actualizando, de la lista',
  general:
    'tu fin de semana, tu finde, tu día, mi nómina, mi factura, escrib*, explic*, traduc*, define, definir, resume, chiste*, receta*, calcula*, capital de, qué es un, qué es una, qué signific*, cómo hago, cómo se hace, cómo puedo, cómo se puede, cómo funciona un*, cómo llego, cómo se llega, cuánto cuesta un*, cuánto tarda un*, significa*, comida, película*, reunión*, tutorial*, código, sql, python, vacaciones, contraseña*, recomiend*, cómo estás, cómo te va, quién eres, inventa*, diferencia entre, más rápido, más rápida, más rápidos, más rápidas',
  service:
    'monitor, monitores, monitoreo*, monitorea*, monitoriz*, servicio, servicios, services, sitio, sitios, web, página*, sistema*, servidor*, server, servers, máquina*, host, hosts, endpoint*, app, apps, aplicación*, infra*, prod, producción, url, urls, producto*, plataforma*, portales, dirección, service, vigilamos, vigilas, webs',
  technical:
    'deploy*, staging, cluster*, base de datos, db, database*, backup*, respaldo*, copia de seguridad, cron*, job, jobs, tarea*, ssl, tls, dns, http, https, tcp, heartbeat*, puerto*, ping*, api, apis, login*, sync*, sincroniz*, copia, proceso*, keyword, red, inicio de sesión',
  who: 'quién, quiénes, quién lleva, quién se encarga, quién se ocupa, quién se ha quedado, quién es responsable',
  which:
    'qué, q está, q hay, q pasa, q se, cuál, cuáles, quién, quiénes, lo que, el que, lista*, muestr*, mostrar*, enséña*',
  why: 'por qué, porque, por q, pq, xq, causa*, causó, motivo*, razón, a qué se debe, se debe, se debió, q pasó, qué pasó, qué ha pasado, qué le pasó, qué pasa con, qué pasó con, qué ocurrió, qué falló, qué está mal, origen, culpa*, porq, qué le pasa, qué salió mal, qué sucedió, a qué se debió, qué anda mal, cómo es que',
  when: 'cuándo, a qué hora, qué hora, qué día, qué fecha, en qué momento, hasta cuándo',
  duration:
    'desde cuándo, desde hace cuánto, hace cuánto, cuánto hace, cuánto tiempo, cuánto lleva, cuánto duró, cuánto dura, cuánto tardó, duración*, duró, dura, lleva, llevan, cuánto llevan, hace cuánto tiempo, duraron, cuánto duraron, mucho tiempo',
  howOften: 'cuántas veces, cada cuánto, con qué frecuencia, qué tan seguido, veces, seguido',
  howMany: 'cuánto, cuántos, cuántas, cuánta, número de, cantidad*, cuenta, contar, total de',
  all: 'todo*, toda, todas, algo, algun*, nada, ningun*, cualquier*, cada uno, cada monitor, general, global*, total, ambos, ambas, nuestros monitores, nuestros servicios, demás, todos los, todas las',
  not: 'no, ni, nunca, tampoco, sin, excepto, salvo, aparte de, menos el, menos la, no pausar, no borrar',
  earlier: 'antes de eso, día anterior, día antes, la víspera',
  except: 'dejando fuera, menos los, menos las, sin, excepto, salvo, menos',
  it: 'lo, eso, ese, esa, esto, él, ella, ellos, ellas, aquel, su, sus, esos, esas, dicho',
  also: 'y, e, además, qué hay de, y qué tal, y qué pasa con, y cómo está, lo mismo para',
  past: 'estuv*, estaba*, fue, fueron, era, eran, hubo, había*, tuvo, tenía*, hizo, ha estado, ha habido, ha sido, pasó, pasaron, ha pasado, ocurrió, ocurrieron, iba, iban, anduv*, se cayó, se cayeron, cayó, cayeron, falló, fallaron, funcionó, funcionaron, corrió, han estado, hemos tenido, tuvieron, tuvimos, empezó, empezaron, comenzó, comenzaron',
  ok: 'ok, okay, bien, funciona*, funcionó, funcione*, anda, andan, andando, andaba*, va, van, iba, marcha*, en orden, estable*, normal*, verde*, correct*, perfect*, sin problemas, sin errores, sin caídas, trabaja*, corriendo, sirve, vivo, operativ*, jala, jalan, sin problema, tranquilo, sin incidentes',
  up: 'up, online, en línea, arriba, levantad*, levantó, en pie, disponible*, accesible*, activo, activos, operativ*, responde, responden, recuper*, resuelto, de vuelta, volvió, volvieron, encendid*, live, ha vuelto, restablec*, arreglad*, solucionad*, activa, respondiendo',
  down: 'down, offline, caído, caída, caídos, caídas, cayó, cayeron, cae, caen, cayendo, caer, se cayó, se cayeron, se fue, roto, rota, rotos, rotas, rompió, rompe, falla, fallan, falló, fallaron, falland*, fallid*, fallos, fallas, error, errores, problem*, fuera de servicio, fuera de línea, fuera, sin servicio, sin respuesta, no disponible, no funciona, no funcionan, no funcionó, no está funcionando, no responde, no anda, no va, no carga, no sirve, no está bien, no está arriba, mal, anda mal, va mal, rojo, crash*, petó, colgad*, colgó, cuelga, inaccesible*, muert*, murió, no responden, no contesta, no carga, no abre, no jala, no está disponible, no están bien, no están funcionando, se nos cayó, desconectad*, averiad*, roja, no va bien, no disponibles, fallado',
  degraded: 'degradad*, degraded, warning*, parcial*, afectad*, amarill*',
  paused:
    'pausad*, paused, en pausa, deshabilitad*, desactivad*, detenid*, parado, parada, inactiv*, apagad*, suspendid*, parados',
  maintenance: 'mantenimiento*, maintenance, trabajo programado',
  flapping:
    'flap*, inestab*, intermiten*, va y viene, sube y baja, a cada rato, se cae a cada rato, se cae todo el tiempo, a ratos',
  status:
    'estado, estados, status, resum*, situación, salud, informe*, reporte*, cómo está, cómo están, cómo va, cómo van, cómo va todo, cómo anda, cómo andan, cómo sigue*, cómo estuv*, cómo estamos, cómo se encuentra*, cómo fue*, qué tal, qué tal está, qué tal va, qué pasa, qué está pasando, qué pasa con, qué onda, estado actual, panorama, balance, cómo vamos, cómo andamos, cómo nos va, cómo han estado, cómo estaba*, cómo ha estado',
  incident:
    'incident*, incidencia*, caída, caídas, interrupción*, corte, avería, outage*, fallos, fallas, pasó, pasaron, pasar, pasado algo, ha pasado, ocurrió, ocurrido, sucedió, q pasó, qué pasó, qué ha pasado, qué ocurrió, salió mal, apagón, apagones, evento*, cortes, averías, ocurrieron, sucedieron, qué le pasó, han pasado, qué sucedió, qué salió mal',
  alert:
    'alert*, alarma*, aviso*, avisa*, notific*, disparó, saltó, sonó, dispara*, suena*, pager*, saltaron, quién lleva, quién se encarga, quién se ocupa, quién se ha quedado, quién es responsable',
  uptime:
    'uptime*, up time, disponibilidad*, tiempo activo, sla, slo, porcentaje*, fiab*, confiab*, qué tan disponible, tiempo de actividad',
  downtime:
    'downtime, down time, tiempo caído, tiempo de caída, tiempo de inactividad, inactividad, tiempo fuera, indisponibilidad',
  response:
    'tiempo de respuesta, latencia*, latency, respuesta*, response time*, velocidad*, performance, ms, milisegundo*, promedio*, media, medio, tarda*, tardó, respondió, rápido, rápida, tiempos de respuesta, contesta, demora*, rendimiento*, tiempo de carga, más rápido, más rápida, más rápidos, más rápidas',
  slow: 'lent*, tarda mucho, lag, laggy, no va rápido, slow, pesado, retras*, tarda demasiado',
  certificate:
    'certificado*, cert, certs, caduc*, vence*, venció, vencido*, vencimiento*, expir*, renov*, renueva*, vigente*, válido*',
  change:
    'cambió, cambiaron, cambios, cambio de estado, cambios de estado, novedad*, qué hay de nuevo, algo nuevo, noticias, distint*, modificad*, cambiado',
  newest:
    'más nuevo, último monitor, añadid*, añadió, agregado*, agregó, creado*, nuevo, nuevos, nueva, nuevas',
  address: 'url, dirección, enlace',
  help: 'qué puedes hacer, qué sabes hacer, qué te puedo preguntar, qué puedo preguntarte, qué hace este bot',
  check:
    'comprobad*, comprobó, comprobacion*, verificad*, verificó, verificacion*, revisad*, revisó, revisión, chequead*, checks, resultado*, historial, último check, pruebas',
  interval:
    'interval*, frecuencia*, cada cuánto se revisa, con qué frecuencia se revisa, cada cuánto revisas',
  run: 'ejecut*, corre, corren, corrió, corriendo, terminó, termina*, acabó, completó, completa*, éxito, se hizo, hecho, a tiempo, llegó, entró, salió, funcionó',
  here: 'aquí, este canal, canal, channel, suscri*, recordatorio*, recuérda*, nos llega, mención*',
  usage:
    'uso, consumo*, token*, presupuesto de tokens, más preguntas, preguntó, preguntas, usa, usan, utiliza*, gast*, costo*, coste*, cuesta, preguntan, usaron',
  worst:
    'peor*, menor, menos disponible*, menos fiable*, menos estable*, más inestable*, más problemas, malo, mala, más bajo, mínim*, menos confiable*',
  most: 'más, mayor, top, el que más, más veces',
  longest:
    'más largo, más larga, que más duró, más duró, duró más, mayor duración, más tiempo, peor caída, peor incidente, mayor caída, peor corte, más largos',
  compare:
    'compar*, versus, vs, mejor*, peor que, empeor*, tendencia*, que antes, que la anterior, que la semana anterior, que la semana pasada, frente a, con la semana anterior',
  than: 'que, compara, comparar, vs, comparado con, comparada con, frente a, respecto a',
  latest:
    'última vez, último incidente, últimos incidentes, última caída, último fallo, última alerta, más reciente*, latest, último corte, último error, último problema, última alarma, última incidencia',
  watch:
    'vigila, vigilar, vigílame, monitorea, monitorear, monitoriza, monitorizar, supervisa, añade, añadir, añádeme, agrega, agregar, agrégame, échale un ojo, da de alta, crea, observa',
  pause:
    'pausa, pause, que pauses, pon en pausa, detén, suspende, desactiva, desactivar, deshabilita, apaga, deja de vigilar, deja de monitorear, poner en pausa, ponlo en pausa, detener, suspender, apagar, deja de revisar, deja de comprobar, no vigiles',
  resume:
    'reanud*, reactiva, reactivar, retoma, activa, activar, habilita, enciende, continúa, quita la pausa, saca de pausa, despausa*, vuelve a vigilar, quitar la pausa, sacar de pausa, habilitar, encender, vuelve a activar',
  snooze:
    'silencia*, silencio, que silencies, calla*, mute, snooze*, no avises, no me avises, sin alertas, no molest*, deja de avisar, deja de alertar, mutea*, no nos avises, sin avisos, deja de molestar, quita las alertas, quita las alarmas, quita los avisos, desactiva las alertas, desactiva las alarmas, desactiva los avisos, apaga las alertas, apaga las alarmas',
  remove:
    'elimina*, que elimines, borra, que borres, quita, quitar, saca, da de baja, quítalo, retira, sacar, dale de baja',
  acknowledge:
    'reconoce, reconocido, confirma, confirmo, ack, estoy en ello, estoy con eso, estamos en ello, me encargo, me ocupo, lo tomo, lo estoy viendo, estoy viendo, estoy investigando, confirmar, reconocer, estoy en eso, lo miro, nos encargamos',
  test: 'comprueba, comprobar, prueba, probar, verifica, verificar, revisa, revisar, chequea, chequear, checa, échale un vistazo, echa un vistazo, vuelve a probar, vuelve a comprobar, testea',
  rename:
    'renombra, renombrar, cambia el nombre, cambiar el nombre, cámbiale el nombre, ponle el nombre, cambia de nombre, nuevo nombre',
  set: 'cambia, cambiar, pon, poner, ponle, ajusta, modifica, sube, subir, baja, bajar, aumenta, reduce, cámbialo, ponlo, ajustar, configura, actualiza',
  every: 'cada, una vez por, una vez al, una vez a la, todos los, todas las, diariamente',
  as: 'como, llamado, con el nombre, que se llame, se llame',
  now: 'ahora, ahorita, actual*, en curso, activo, activos, de momento, por el momento, abierto, abiertos, este momento',
  today: 'hoy, hoy día',
  yesterday: 'ayer',
  dayBefore: 'anteayer, antier, antes de ayer, antes de anoche, anteanoche',
  night: 'noche, anoche, de noche, nocturn*, madrugada, de madrugada, anteanoche, antes de anoche',
  morning: 'mañana, por la mañana, en la mañana, de la mañana, temprano',
  afternoon: 'tarde, de la tarde, mediodía, al mediodía',
  evening: 'anochecer',
  weekend: 'fin de semana, fines de semana, finde, findes',
  tomorrow: 'mañana',
  future: 'programad*, planificad*, previst*, será, estará, habrá, esta noche',
  next: 'próxim*, siguiente*, dentro de',
  last: 'último, última, últimos, últimas, pasado, pasada, pasados, pasadas, anterior*, previo',
  this: 'este, esta, estos, estas',
  since: 'desde, a partir de, a partir del',
  until: 'hasta, a, al, a las, y',
  between: 'entre, de, del',
  ago: 'hace, atrás',
  at: 'a las, a eso de las, sobre las',
  recently: 'recientemente, últimamente, hace poco, hace un rato, reciente, estos días, recién',
  ever: 'alguna vez, hasta ahora, hasta la fecha, históric*, desde el principio, jamás',
  oclock: 'en punto, hs',
  ordinal:
    'primero, primer, primera | segundo, segunda | tercero, tercer, tercera | cuarto, cuarta | quint* | sexto, sexta | séptim* | octavo, octava | novena, noveno | décimo, décima',
  second: 'segundo, segundos, seg, s',
  minute: 'minuto, minutos, minutito*, min, mins, m',
  hour: 'hora, horas, hrs, hr, hs, h',
  day: 'día, días, diari*, d',
  week: 'semana*, sem',
  month: 'mes, meses, mensual*',
  quarter: 'trimestre*',
  year: 'año, años, anual*',
  weekdays:
    'domingo*, dom | lunes, lun | martes | miércoles, mié | jueves, jue | viernes, vie | sábado*, sáb',
  months:
    'enero, ene | febrero, feb | marzo | abril, abr | mayo | junio, jun | julio, jul | agosto, ago | septiembre, setiembre, sept, sep | octubre, oct | noviembre, nov | diciembre, dic',
  numbers:
    '| uno | dos, par, un par, un par de | tres, unos pocos, unas pocas, unos cuantos, unas cuantas | cuatro | cinco | seis | siete | ocho | nueve | diez | once | doce',
};
