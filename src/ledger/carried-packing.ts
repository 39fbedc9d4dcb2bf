/**
 * What a segment goes on from, where it has something:
 *
 *   carried  priced, covered: course | others: number, courses | units sold of both | debt,
 *            debt of the account | payments (payment-packing.ts)
 *   course   at, ahead, before, credit | u8 1 for the access price
 */
import type { Carried } from '../domain/segment-parts.ts'
import type { PricePosition } from '../domain/tariff.ts'
import { readPayments, writePayments } from './payment-packing.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

export function writeCarried(writer: Writer, carried: Carried): void {
  writeCourse(writer, carried.priced)
  writeCourse(writer, carried.covered)
  writer.number(carried.others.length)
  for (const course of carried.others) writeCourse(writer, course)
  writer.number(carried.pricedSold)
  writer.number(carried.coveredSold)
  writer.number(carried.debt)
  writer.number(carried.accountDebt)
  writePayments(writer, carried.payments)
}

export function readCarried(reader: Reader): Carried {
  const priced = readCourse(reader)
  const covered = readCourse(reader)
  const others: PricePosition[] = []
  for (let left = reader.number(); left > 0; left -= 1) others.push(readCourse(reader))
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

function writeCourse(writer: Writer, { at, ahead, before, credit, access }: PricePosition): void {
  writer.number(at)
  writer.number(ahead)
  writer.number(before)
  writer.number(credit)
  writer.u8(access ? 1 : 0)
}

function readCourse(reader: Reader): PricePosition {
  const [at, ahead, before, credit] = [0, 1, 2, 3].map(() => reader.number()) as [
    number,
    number,
    number,
    number,
  ]
  return { at, ahead, before, access: reader.u8() === 1, credit }
}
