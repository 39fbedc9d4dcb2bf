/**
 * Encodes payments for segments:
 *
 *   payments  number, then each
 *   payment   u8 flags | bucket, prepaid include, amount | counter, left, total
 */
import { present } from '../domain/assert.ts'
import type { Payment } from '../domain/segment-parts.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

const PAYMENT_KINDS: readonly Payment['kind'][] = [
  'units',
  'money',
  'limit',
  'creditedUnits',
  'creditedMoney',
]
/** The lower bits of a kind, and the flag for its next bit. */
const PAYMENT_KIND_BITS = 3
const PAYMENT_KIND_HIGH = 16
const PAYMENT_OF_ACCOUNT = 4
const PAYMENT_OF_COUNTER = 8

export function writePayments(writer: Writer, payments: readonly Payment[]): void {
  writer.number(payments.length)
  for (const payment of payments) writePayment(writer, payment)
}

export function readPayments(reader: Reader): Payment[] {
  const payments = reader.list<Payment>()
  for (let at = 0; at < payments.length; at += 1) payments[at] = readPayment(reader)
  return payments
}

function writePayment(writer: Writer, payment: Payment): void {
  const isOfCounter = payment.counter !== '' || payment.left !== 0 || payment.total !== 0
  const kind = PAYMENT_KINDS.indexOf(payment.kind)
  let flags = kind & PAYMENT_KIND_BITS
  if (kind > PAYMENT_KIND_BITS) flags |= PAYMENT_KIND_HIGH
  if (payment.owner === 1) flags |= PAYMENT_OF_ACCOUNT
  if (isOfCounter) flags |= PAYMENT_OF_COUNTER
  writer.u8(flags)
  writer.number(payment.bucketId)
  writer.number(payment.prepaidIncludeId)
  writer.number(payment.amount)
  if (!isOfCounter) return
  writer.string(payment.counter)
  writer.number(payment.left)
  writer.number(payment.total)
}

function readPayment(reader: Reader): Payment {
  const flags = reader.u8()
  const isOfCounter = (flags & PAYMENT_OF_COUNTER) !== 0
  const high = flags & PAYMENT_KIND_HIGH ? PAYMENT_KIND_BITS + 1 : 0
  const kind = high + (flags & PAYMENT_KIND_BITS)
  return {
    owner: flags & PAYMENT_OF_ACCOUNT ? 1 : 0,
    bucketId: reader.number(),
    prepaidIncludeId: reader.number(),
    kind: present(PAYMENT_KINDS[kind], 'kind of a payment'),
    amount: reader.number(),
    counter: isOfCounter ? reader.word() : '',
    left: isOfCounter ? reader.number() : 0,
    total: isOfCounter ? reader.number() : 0,
  }
}
