/**
 * Encodes the state that a segment continues from:
 *
 *   carried   charged, included: position | others: number, positions | units sold of both | debt,
 *             debt of the account | payments (payment-packing.ts)
 *   position  at, ahead, before, credit | u8 1 for the access price
 */
import type { Carried } from '../domain/segment-parts.ts'
import type { PricePosition } from '../domain/tariff.ts'
import { readPayments, writePayments } from './payment-packing.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

export function writeCarried(writer: Writer, carried: Carried): void {
  writePosition(writer, carried.priced)
  writePosition(writer, carried.covered)
  writer.number(carried.others.length)
  for (const position of carried.others) writePosition(writer, position)
  writer.number(carried.pricedSold)
  writer.number(carried.coveredSold)
  writer.number(carried.debt)
  writer.number(carried.accountDebt)
  writePayments(writer, carried.payments)
}

export function readCarried(reader: Reader): Carried {
  const priced = readPosition(reader)
  const covered = readPosition(reader)
  const others: PricePosition[] = []
  for (let left = reader.number(); left > 0; left -= 1) others.push(readPosition(reader))
  return {
    priced,
    covered,
    others,
    pricedSold: reader.number(),
    coveredSold: reader.number(),
    debt: reader.number(),
    accountDebt: reader.number(),
    payments: readPayments(reader),
  }
}

function writePosition(writer: Writer, { at, ahead, before, credit, access }: PricePosition): void {
  writer.number(at)
  writer.number(ahead)
  writer.number(before)
  writer.number(credit)
  writer.u8(access ? 1 : 0)
}

function readPosition(reader: Reader): PricePosition {
  const [at, ahead, before, credit] = [0, 1, 2, 3].map(() => reader.number()) as [
    number,
    number,
    number,
    number,
  ]
  return { at, ahead, before, access: reader.u8() === 1, credit }
}
