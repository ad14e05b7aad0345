/** Words of names as people also write them, often in their own language: the word of the name, then the others. */
const LIST = `
  eu: europe, europa, european, ue
  us: usa, america, eeuu
  staging: stage, stg
  api: schnittstelle
  login: sesion, signin, anmeldung, einloggen
  website: web, webseite, homepage
  shop: store, tienda
  checkout: kasse
  search: suche, busqueda, buscador
  forum: foro
  inventory: inventar, inventario
  warehouse: lager, almacen
  payments: zahlungen, pagos
  billing: abrechnung
  nightly: nachtliche, nachtlichen, nachtliches, nocturno, nocturna, nocturnos, nocturnas
  reports: berichte, informes, reportes
  backup: respaldo
  giftcards: gutscheine, geschenkkarten
  images: bilder, imagenes
  mobile: movil
  returns: retouren, retoure, devoluciones
  payroll: lohnabrechnung, gehaltsabrechnung, nomina, nominas
  careers: karriere, empleo
  logistics: logistik, logistica
  analytics: analitica, analitik
  identity: identidad, identitat
  loyalty: treueprogramm, fidelidad, fidelizacion
  docs: doku, dokumentation, documentacion
  media: medien, medios
  maps: karten, mapas
  newsletter: boletin`;

/** The word of names by each of its other forms, which are folded. */
export const ALIASES: ReadonlyMap<string, string> = new Map(
  LIST.trim()
    .split('\n')
    .flatMap((line) => {
      const [word = '', others = ''] = line.trim().split(': ');
      return others.split(', ').map((other): [string, string] => [other, word]);
    }),
);
