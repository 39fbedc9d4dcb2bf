import type { PAYMENTS as EN } from '../en/payments.ts'

export const PAYMENTS: Readonly<Record<keyof typeof EN, string>> = {
  'payments.filter': 'Welche Zahlungen',
  'payments.aid': 'Konto',
  'payments.tabs': 'Arten von Zahlungen',
  'payments.tab.payments': 'Zahlungen',
  'payments.tab.charges': 'Einzüge über Zahlungsdienste',
  'payments.none': 'Keine Zahlungen.',
  'payments.time': 'Zeit',
  'payments.number': 'Nummer',
  'payments.method': 'Art',
  'payments.direction': 'Richtung',
  'payments.fc': 'vom Kunden',
  'payments.tc': 'an den Kunden',
  'payments.amount': 'Betrag',
  'payments.left': 'Nicht verwendet',
  'payments.state': 'Status',
  'payments.is.done': 'erledigt',
  'payments.is.waiting': 'nicht bestätigt',
  'payments.is.cancelled': 'storniert',
  'payments.is.rejected': 'abgelehnt',
  'payments.is.denied': 'zurückgebucht',
  'payments.is.correction': 'nimmt {txid} zurück',
  'payments.action': 'Aktion',
  'payments.correct': 'Korrigieren…',
  'payments.correctOne': 'Korrigieren… Zahlung {txid}',

  'payment.open': 'Zahlung erfassen',
  'payment.keys': 'Zahlung erfassen',
  'payment.save': 'Erfassen',
  'payment.repeat': 'Dieselbe Zahlung wiederholen',
  'payment.unknownOutcome':
    'Es ist nicht bekannt, ob diese Zahlung erfasst wurde. Sie zu wiederholen ist sicher: Sie ' +
    'wird einmal erfasst.',
  'payment.aid': 'Konto',
  'payment.dir': 'Richtung',
  'payment.method': 'Art',
  'payment.amount': 'Betrag',
  'payment.invalidAmount':
    'Der Betrag muss eine Zahl über 0 mit höchstens 6 Nachkommastellen sein.',
  'payment.invalidAid': 'Die Nummer eines Kontos wird gebraucht.',
  'payment.invoice': 'Zuerst zu zahlende Rechnung',
  'payment.invoiceHint': 'Leer: die älteste Schuld zuerst.',
  'payment.payer': 'Zahler',
  'payment.bank': 'Bank',
  'payment.reason': 'Grund',
  'payment.reasonHint': 'Er steht im Audit.',
  'payment.done': '{amount} für Konto {aid} erfasst.',
  'payment.by.cash': 'bar',
  'payment.by.wire_transfer': 'Überweisung',
  'payment.by.cheque': 'Scheck',
  'payment.by.automatic': 'automatisch, zu bestätigen',
  'payment.by.credit': 'Gutschrift',
  'payment.by.write_off': 'Ausbuchung',

  'correct.title': 'Zahlung {txid} korrigieren',
  'correct.about': '{amount} von Konto {aid}.',
  'correct.how': 'Was geschehen soll',
  'correct.do': 'Zahlung korrigieren',
  'correct.cancel': 'Stornieren',
  'correct.reject': 'Ablehnen',
  'correct.deny': 'Zurückbuchen',
  'correct.mark_paid': 'Bestätigen, dass das Geld da ist',
  'correct.cancelAbout':
    'Was die Zahlung gedeckt hat, ist wieder offen. Das kann nicht rückgängig gemacht werden.',
  'correct.rejectAbout':
    'Die Zahlung ist fehlgeschlagen: Was sie bezahlt hat, ist wieder offen und merkt es sich. ' +
    'Das kann nicht rückgängig gemacht werden.',
  'correct.denyAbout':
    'Zahler oder Bank haben sie zurückgenommen: wie eine Ablehnung. Das kann nicht rückgängig ' +
    'gemacht werden.',
  'correct.mark_paidAbout': 'Was die Zahlung deckt, ist bezahlt.',

  'charges.none': 'Keine Einzüge über einen Zahlungsdienst.',
  'charges.gateway': 'Zahlungsdienst',
  'charges.reason': 'Grund',
  'charges.task': 'Zu entscheiden seit',
}
