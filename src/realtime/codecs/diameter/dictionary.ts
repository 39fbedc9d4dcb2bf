/**
 * Diameter attribute-value pairs (AVPs): names, codes, vendors, types and named values. Extracted
 * from the package `diameter` (scripts/diameter-dictionary.mjs), corrected and completed for credit
 * control (supplement.ts), and compiled once.
 */
import { readFileSync } from 'node:fs'
import { present } from '../../../domain/assert.ts'
import type { AvpEntry, AvpType } from './avp-entry.ts'
import { binaryAvps, onceIn, requiredInRequest, supplement } from './supplement.ts'

export interface Avp {
  /** Key in messages: the name or, if another AVP has that name, the code. */
  readonly name: string
  readonly code: number
  /** 0 for the IETF. */
  readonly vendor: number
  /** Code as a key: `263`, or `10415:1016` with a vendor. */
  readonly codeText: string
  /** Both keys as JSON strings. */
  readonly nameJson: string
  readonly codeJson: string
  readonly type: AvpType
  /** An `OctetString` of binary data. */
  readonly isBinary: boolean
  /** Whether a receiver that does not know it must refuse the message (M flag). */
  readonly isMandatory: boolean
  /** Named values; null if absent. */
  readonly values: ReadonlyMap<string, number> | null
  readonly valueNames: ReadonlyMap<number, string> | null
}

/** Precedence of vendors for an ambiguous name: IETF, then 3GPP. */
const VENDORS_FIRST = [0, 10415]
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/** The same relative path from src (development) and dist/src (built). */
const FILE = new URL('../../../../config/diameter-dictionary.json', import.meta.url)
const packaged: readonly AvpEntry[] = JSON.parse(readFileSync(FILE, 'utf8'))
const binaryCodes = new Set(
  Object.entries(binaryAvps).flatMap(([vendorId, list]) =>
    listed(list).map((entry) =>
      codeText({ vendorId: Number(vendorId), code: Number.parseInt(entry, 10) }),
    ),
  ),
)
const { byCode, byKey } = compile(packaged, supplement)

/** By name, or by code as a key: `263`, `0:263`, `10415:1016`. */
export function avpByKey(key: string): Avp | undefined {
  return byKey.get(key)
}

export function avpByCode(code: number, vendor: number): Avp | undefined {
  return byCode.get(vendor)?.get(code)
}

/** Codes of the AVPs that may occur once in a request, or in a group by its name. */
export function codesOnceIn(name: string): readonly number[] {
  return codesOf(onceIn[name] ?? '')
}

/** Codes of the AVPs that a request must have. */
export const requiredCodes: readonly number[] = codesOf(requiredInRequest)

function codesOf(names: string): number[] {
  return listed(names).map((name) => present(avpByKey(name), `AVP ${name}`).code)
}

function listed(list: string): string[] {
  return list === '' ? [] : list.split(',').map((entry) => entry.trim())
}

/** Corrections replace entries of the same code; the replaced names remain as aliases. */
function compile(entries: readonly AvpEntry[], corrections: readonly AvpEntry[]) {
  const corrected = new Map(corrections.map((entry) => [codeText(entry), entry]))
  const owners = namedBy([
    ...corrections,
    ...entries.filter((entry) => !corrected.has(codeText(entry))),
  ])
  const byCode = new Map<number, Map<number, Avp>>()
  const byKey = new Map<string, Avp>()
  const add = (entry: AvpEntry, name: string) => {
    const text = codeText(entry)
    const avp = avpOf(entry, owners.get(name) === entry ? name : text, text)
    if (!byCode.has(avp.vendor)) byCode.set(avp.vendor, new Map())
    byCode.get(avp.vendor)?.set(avp.code, avp)
    for (const key of [avp.name, text, `${avp.vendor}:${avp.code}`]) byKey.set(key, avp)
  }
  for (const entry of [...corrections, ...entries]) {
    if (byCode.get(entry.vendorId)?.has(entry.code)) continue
    add(entry, entry.name)
  }
  for (const entry of entries) {
    const avp = byCode.get(entry.vendorId)?.get(entry.code)
    if (avp !== undefined && NAME.test(entry.name) && !byKey.has(entry.name)) {
      byKey.set(entry.name, avp)
    }
  }
  return { byCode, byKey }
}

/** Owner of each name: the first entry of the vendor with precedence. */
function namedBy(entries: readonly AvpEntry[]): ReadonlyMap<string, AvpEntry> {
  const rank = ({ vendorId }: AvpEntry) => {
    const at = VENDORS_FIRST.indexOf(vendorId)
    return at < 0 ? VENDORS_FIRST.length : at
  }
  const owners = new Map<string, AvpEntry>()
  for (const entry of entries) {
    const owner = owners.get(entry.name)
    if (!NAME.test(entry.name) || isCode(entry.name)) continue
    if (owner === undefined || rank(entry) < rank(owner)) owners.set(entry.name, entry)
  }
  return owners
}

function isCode(name: string): boolean {
  return /^\d+$/.test(name)
}

function codeText({ code, vendorId }: Pick<AvpEntry, 'code' | 'vendorId'>): string {
  return vendorId === 0 ? String(code) : `${vendorId}:${code}`
}

function avpOf(entry: AvpEntry, name: string, codeText: string): Avp {
  const { code, vendorId: vendor, enums = [] } = entry
  const values = new Map<string, number>()
  const valueNames = new Map<number, string>()
  for (const value of enums) {
    if (value.name === 'Undefined') continue
    if (!values.has(value.name)) values.set(value.name, value.code)
    if (!valueNames.has(value.code)) valueNames.set(value.code, value.name)
  }
  const isNamed = values.size > 0
  const type = entry.type ?? 'OctetString'
  return {
    name,
    code,
    vendor,
    codeText,
    nameJson: JSON.stringify(name),
    codeJson: JSON.stringify(codeText),
    type,
    isBinary: entry.isBinary ?? (type === 'OctetString' && binaryCodes.has(codeText)),
    isMandatory: entry.flags?.mandatory ?? false,
    values: isNamed ? values : null,
    valueNames: isNamed ? valueNames : null,
  }
}
