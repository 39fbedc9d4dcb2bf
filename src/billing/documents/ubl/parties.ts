/** Seller and buyer in UBL, and what EN 16931 demands of them. */
import type { InvoiceSource, Party } from '../source.ts'
import type { InvoiceView } from '../view.ts'
import { aggregate, basic, type Xml } from './xml.ts'

/** Values of both parties in the form of EN 16931. */
export interface UblParties {
  readonly seller: UblParty
  readonly buyer: UblParty
}

export interface UblParty {
  readonly party: Party
  /** ISO 3166, two letters. */
  readonly country: string
  /** With the code of the country; empty if it is not given, or must not be. */
  readonly vatId: string
}

/** Names the missing data in `missing`: settings, and fields of the account. */
export function partiesOf({ source, groups }: InvoiceView, missing: string[]): UblParties {
  const { buyer } = source
  const { seller } = source.settings
  const categories = new Set(groups.map(({ vat }) => vat?.category))
  // Invoices that are not subject to VAT have no VAT numbers (BR-O-02).
  const isSubject = !categories.has('O')
  const parties = {
    seller: partyOf(seller, isSubject),
    buyer: partyOf(buyer, isSubject),
  }
  if (seller.name === '') missing.push('invoices.seller.name')
  if (parties.seller.country === '') missing.push('invoices.seller.country (ISO 3166)')
  if (isSubject && seller.vatId === '') missing.push('invoices.seller.vat_id')
  if (!isSubject && seller.registrationId === '') missing.push('invoices.seller.registration_id')
  if (buyer.name === '') missing.push('account.company_name, or firstname and lastname')
  if (parties.buyer.country === '') missing.push('account.country (ISO 3166)')
  if (categories.has('AE') && buyer.vatId === '' && buyer.registrationId === '') {
    missing.push('account.vat_id')
  }
  return parties
}

function partyOf(party: Party, isSubject: boolean): UblParty {
  const country = countryCode(party.country)
  return { party, country, vatId: isSubject ? vatIdOf(party.vatId, country) : '' }
}

/** Numbers of some countries are usual without its code, which EN 16931 demands (BR-CO-09). */
function vatIdOf(value: string, country: string): string {
  const id = value.replace(/[\s.-]/g, '').toUpperCase()
  if (id === '' || /^[A-Z]{2}/.test(id)) return id
  return `${country === 'GR' ? 'EL' : country}${id}`
}

let codes: ReadonlyMap<string, string> | undefined

/** The code of a country that is given as code or English name; empty if it is neither. */
export function countryCode(country: string): string {
  codes ??= countryCodes()
  return codes.get(country.trim().toLowerCase()) ?? ''
}

/** By lower-case code and English name. */
function countryCodes(): ReadonlyMap<string, string> {
  const names = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  const all = letters.flatMap((first) => letters.map((second) => first + second))
  const found = new Map<string, string>()
  for (const code of all) {
    const name = names.of(code)
    // Names of former states and groups of them lead to the code in force.
    const [current] = Intl.getCanonicalLocales(`und-${code}`)
    if (name === undefined || current !== `und-${code}` || NO_COUNTRY.has(code)) continue
    found.set(code.toLowerCase(), code)
    found.set(name.toLowerCase(), code)
  }
  return found
}

/** Regions of Unicode that are not countries of ISO 3166. */
const NO_COUNTRY = new Set([
  ...['AC', 'CP', 'CQ', 'DG', 'EA', 'EU', 'EZ', 'IC', 'QO', 'TA', 'UN', 'XA', 'XB', 'XK', 'ZZ'],
])

export function supplierXml({ seller }: UblParties): Xml {
  return aggregate('AccountingSupplierParty', partyXml(seller, ''))
}

export function customerXml({ buyer }: UblParties, { aid }: InvoiceSource): Xml {
  return aggregate('AccountingCustomerParty', partyXml(buyer, String(aid)))
}

function partyXml({ party, country, vatId }: UblParty, id: string): Xml {
  const scheme = { schemeID: party.endpointScheme === '' ? 'EM' : party.endpointScheme }
  const vat = aggregate('TaxScheme', basic('ID', 'VAT'))
  return aggregate(
    'Party',
    basic('EndpointID', party.endpoint, scheme),
    aggregate('PartyIdentification', basic('ID', id)),
    aggregate(
      'PostalAddress',
      basic('StreetName', party.street),
      basic('CityName', party.city),
      basic('PostalZone', party.zipCode),
      aggregate('Country', basic('IdentificationCode', country)),
    ),
    vatId === '' ? '' : aggregate('PartyTaxScheme', basic('CompanyID', vatId), vat),
    aggregate(
      'PartyLegalEntity',
      basic('RegistrationName', party.name),
      basic('CompanyID', party.registrationId),
    ),
    aggregate('Contact', basic('Telephone', party.phone), basic('ElectronicMail', party.email)),
  )
}
