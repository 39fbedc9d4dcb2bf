/** The shape that a Diameter message has as JSON; its answer has the same. */

/** How the AVPs of a message and of its groups are written. */
export type AvpLayout =
  /** `{"Session-Id": "…"}`, repeated ones as a list. */
  | 'object'
  /** `[["Session-Id", "…"]]`, as the package `diameter` has it. */
  | 'pairs'
  /** `[{"code": 263, "value": "…"}]` */
  | 'entries'

/** Names of the members of an entry. */
export interface EntryKeys {
  /** `code`, `name` or `avp`. */
  key: string
  value: string
  /** Of a grouped AVP. */
  group: string
  /** Empty: told only where there is one. */
  vendor: string
}

/** What is around the AVPs. */
export interface MessageEnvelope {
  record: Readonly<Record<string, unknown>>
  /** Its member that has the AVPs. */
  bodyKey: string
}

export interface DiameterForm {
  layout: AvpLayout
  /** AVPs are called by their codes; else by their names. */
  isByCode: boolean
  /** Codes in pairs are numbers. */
  hasNumberCodes: boolean
  /** Enumerated values are called by their names. */
  hasNamedValues: boolean
  entryKeys: EntryKeys
  envelope: MessageEnvelope | null
  /** What answers repeat, also of a refused message: `Session-Id` and the like, if known. */
  echo: readonly (readonly [name: string, value: string | number])[]
}

/** That of a message of which nothing is known. */
export function plainForm(): DiameterForm {
  return {
    layout: 'object',
    isByCode: false,
    hasNumberCodes: false,
    hasNamedValues: false,
    entryKeys: { key: 'name', value: 'value', group: 'value', vendor: '' },
    envelope: null,
    echo: [],
  }
}
