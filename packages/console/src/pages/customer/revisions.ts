/** Names, numbers and services in a revision of a customer. */
import type { Fields } from '../../api/records.ts'
import { textIn } from '../../parts/differences.ts'

/** One text or a list of texts. */
export function textsIn(document: Readonly<Record<string, unknown>>, field: string): string[] {
  const value = document[field]
  const list = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  return list.map(String).filter((text) => text !== '')
}

/** First and last name; empty without either. */
export function nameIn(document: Readonly<Record<string, unknown>>): string {
  return ['firstname', 'lastname']
    .map((field) => textIn(document, field))
    .filter((text) => text !== '')
    .join(' ')
}

export interface ServiceView {
  readonly name: string
  readonly quantity: string
}

export function servicesIn(document: Readonly<Record<string, unknown>>): readonly ServiceView[] {
  const { services } = document
  if (!Array.isArray(services)) return []
  return services.map((each: unknown) => {
    const entry = (typeof each === 'object' && each !== null ? each : { name: each }) as Fields
    return { name: textIn(entry, 'name'), quantity: textIn(entry, 'quantity') }
  })
}
