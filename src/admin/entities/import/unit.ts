/** What is written together, or not at all: a row, or all lines of one rate. */
import type { Fields } from '../../../domain/fields.ts'

/** The price of a rate in a plan or service. */
export interface ImportedPrice {
  collection: 'plans' | 'services'
  name: string
  /** Rows that it stands in. */
  labels: string[]
  /** Steps by usage type. */
  usagets: [string, Fields[]][]
}

export interface ValidUnit {
  /** Of its rows. */
  labels: string[]
  update: Fields
  linkerValue: string
  updaterValue: string
  /** Of a rate: its own steps by usage type, and those of plans and services. */
  prices: readonly [string, Fields[]][]
  overrides: readonly ImportedPrice[]
  /** Rows about the rate itself; none: there are only overrides. */
  ownLabels: readonly string[]
}

export type Unit = ValidUnit | { labels: string[]; problem: string }

/** By the label of a row: true, or why it failed. */
export type RowResults = Map<string, true | string>

export function isValidUnit(unit: Unit): unit is ValidUnit {
  return !('problem' in unit)
}
