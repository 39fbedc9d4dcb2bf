/**
 * The attribute-value pairs (AVPs) of Diameter: names, codes, vendors, types and named values.
 * They are extracted from the package `diameter` (scripts/diameter-dictionary.mjs), corrected and
 * completed by what credit control needs (supplement.ts), and compiled once.
 */
import { readFileSync } from 'node:fs'
import { supplement } from './supplement.ts'

/** As the package names them; texts and addresses of hosts are `OctetString`, too. */
export type AvpType =
  | 'OctetString'
  | 'Unsigned32'
  | 'Unsigned64'
  | 'Integer32'
  | 'Integer64'
  | 'Time'
  | 'IPAddress'
  | 'Grouped'

export interface Avp {
  /** What messages call it: its name or, where another AVP has that name, its code. */
  readonly name: string
  readonly code: number
  /** 0: of the IETF. */
  readonly vendor: number
  /** As keys of messages have it: `263`, or `10415:1016` with a vendor. */
  readonly codeText: string
  /** Both as JSON. */
  readonly nameJson: string
  readonly codeJson: string
  readonly type: AvpType
  /** Whether a receiver that does not know it must refuse the message (M flag). */
  readonly isMandatory: boolean
  /** Named values; null if it has none. */
  readonly values: ReadonlyMap<string, number> | null
  readonly valueNames: ReadonlyMap<number, string> | null
}

/** An AVP as the package, and the supplement, describe it. */
export interface AvpEntry {
  code: number
  name: string
  vendorId: number
  type?: AvpType
  flags?: { mandatory: boolean }
  enums?: readonly { code: number; name: string }[]
}

/** Which vendor's AVP has a name that several have: the IETF's, else that of 3GPP. */
const VENDORS_FIRST = [0, 10415]
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/** Same distance from src (development) and dist/src (built). */
const FILE = new URL('../../../../config/diameter-dictionary.json', import.meta.url)
const packaged: readonly AvpEntry[] = JSON.parse(readFileSync(FILE, 'utf8'))
const { byCode, byKey } = compile(packaged, supplement)

/** By its name, or by its code as a key has it: `263`, `0:263`, `10415:1016`. */
export function avpByKey(key: string): Avp | undefined {
  return byKey.get(key)
}

export function avpByCode(code: number, vendor: number): Avp | undefined {
  return byCode.get(vendor)?.get(code)
}

/** Later entries correct earlier ones of the same code; names that they replace still find it. */
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

/** Whose each name is: the first's of the first vendor. */
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

function codeText({ code, vendorId }: AvpEntry): string {
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
  return {
    name,
    code,
    vendor,
    codeText,
    nameJson: JSON.stringify(name),
    codeJson: JSON.stringify(codeText),
    type: entry.type ?? 'OctetString',
    isMandatory: entry.flags?.mandatory ?? false,
    values: isNamed ? values : null,
    valueNames: isNamed ? valueNames : null,
  }
}
