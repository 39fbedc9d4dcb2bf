import type { AnswerValue } from '../../../file-types/file-type.ts'
import { quote } from '../json/text.ts'
import { amountOf } from './amount.ts'
import type { DiameterForm } from './diameter-form.ts'
import { type Avp, avpByKey } from './dictionary.ts'

/** An AVP with its encoded values, one per occurrence. */
export interface WrittenAvp {
  name: string
  avp: Avp | undefined
  isList: boolean
  values: readonly string[]
}

/** AVPs that hold money as digits and exponent (RFC 8506 section 8.8). */
const AMOUNTS: readonly string[] = ['Unit-Value']

/** Writes AVPs as JSON in the layout of the request. */
export class AvpWriter {
  readonly #form: DiameterForm

  constructor(form: DiameterForm) {
    this.#form = form
  }

  /** Writes a message or a group. */
  group(avps: readonly WrittenAvp[]): string {
    const { layout } = this.#form
    let text = ''
    for (const avp of avps) {
      if (layout === 'object') {
        text += text === '' ? this.#property(avp) : `,${this.#property(avp)}`
        continue
      }
      for (const value of avp.values) {
        text += text === '' ? this.#element(avp, value) : `,${this.#element(avp, value)}`
      }
    }
    return layout === 'object' ? `{${text}}` : `[${text}]`
  }

  /** Appends the encoded values; a list yields repeated AVPs. */
  values(texts: string[], value: AnswerValue, avp: Avp | undefined): void {
    if (typeof value !== 'object') {
      texts.push(this.#scalar(value, avp))
    } else if (isList(value)) {
      for (const one of value) this.values(texts, one, avp)
    } else {
      texts.push(this.#record(value, avp))
    }
  }

  #property({ name, avp, isList, values }: WrittenAvp): string {
    const key = this.#key(name, avp)
    if (isList || values.length > 1) return `${key}:[${values.join(',')}]`
    return `${key}:${values[0]}`
  }

  #element({ name, avp }: WrittenAvp, value: string): string {
    const { layout, isByCode, hasNumberCodes, entryKeys } = this.#form
    const isCode = isByCode && avp !== undefined
    if (layout === 'pairs') {
      const isNumber = isCode && hasNumberCodes && avp.vendor === 0
      return `[${isNumber ? avp.code : this.#key(name, avp)},${value}]`
    }
    const { key, vendor, group, value: plain } = entryKeys
    const isVendorNamed = avp !== undefined && (isCode ? vendor !== '' || avp.vendor > 0 : false)
    const vendorText = isVendorNamed ? `,"${vendor || 'vendor'}":${avp.vendor}` : ''
    const valueKey = value.startsWith('[') ? group : plain
    const called = isCode ? avp.code : this.#key(name, avp)
    return `{"${key}":${called}${vendorText},"${valueKey}":${value}}`
  }

  #key(name: string, avp: Avp | undefined): string {
    if (avp === undefined) return quote(name)
    return this.#form.isByCode ? avp.codeJson : avp.nameJson
  }

  #scalar(value: string | number | boolean, avp: Avp | undefined): string {
    switch (typeof value) {
      case 'string': {
        const number = this.#form.hasNamedValues ? undefined : avp?.values?.get(value)
        return number === undefined ? quote(value) : String(number)
      }
      case 'number': {
        const name = this.#form.hasNamedValues ? avp?.valueNames?.get(value) : undefined
        return name === undefined ? String(value) : quote(name)
      }
      default:
        // Diameter has no booleans: they are written to known AVPs as 0 or 1.
        return avp === undefined ? String(value) : this.#scalar(value ? 1 : 0, avp)
    }
  }

  #record(value: object, avp: Avp | undefined): string {
    const digits = digitsOf(value)
    if (digits === undefined) return this.#group(value)
    const isAmount = avp !== undefined && AMOUNTS.includes(avp.name)
    return (isAmount ? this.#amount(digits) : undefined) ?? digits
  }

  #group(record: object): string {
    const written: WrittenAvp[] = []
    for (const [key, value] of Object.entries(record)) {
      const avp = avpByKey(key)
      const values: string[] = []
      this.values(values, value, avp)
      if (values.length > 0) written.push({ name: avp?.name ?? key, avp, isList: false, values })
    }
    return this.group(written)
  }

  /** Money as digits and an exponent of ten. */
  #amount(decimal: string): string | undefined {
    const amount = amountOf(decimal)
    if (amount === undefined) return undefined
    const { digits, scale } = amount
    const members: WrittenAvp[] = [amountMember('Value-Digits', digits)]
    if (scale > 0) members.push(amountMember('Exponent', `-${scale}`))
    return this.group(members)
  }
}

function amountMember(name: string, value: string): WrittenAvp {
  return { name, avp: avpByKey(name), isList: false, values: [value] }
}

/** Digits of a `NumberText`; undefined for groups, which are plain records. */
function digitsOf(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return undefined
  const { digits } = value as { digits?: unknown }
  return typeof digits === 'string' ? digits : undefined
}

/** Array.isArray does not distinguish a readonly list from a record. */
function isList(value: object): value is readonly AnswerValue[] {
  return Array.isArray(value)
}
