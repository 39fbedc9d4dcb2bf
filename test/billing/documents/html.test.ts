import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { TemplateError } from '../../../src/billing/documents/errors.ts'
import type { InvoiceSource, SourceLine } from '../../../src/billing/documents/source.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import {
  dueOf,
  invoice,
  line,
  rendered,
  SELLER,
  settings,
  vat,
} from '../../support/billing/invoices.ts'
import { useFolderEach } from '../../support/opened.ts'

const folder = useFolderEach()

async function html(source: InvoiceSource, templates = ''): Promise<string> {
  return (await rendered(source, 'html', templates)).toString()
}

const LINES = [
  line('1234.5'),
  line('2.345', {
    type: 'usage',
    usageType: 'call',
    quantity: new Exact(3725),
    name: 'CALL',
    description: '',
    taxes: [vat('0.07')],
  }),
]
const SOURCE = invoice(dueOf(LINES), LINES)

/** The text of a page, with one space for blanks of any kind. */
function textOf(page: string): string {
  const body = page.slice(page.indexOf('<body>')).replace(/<[^>]*>/g, ' ')
  return body.replaceAll('&amp;', '&').replace(/\s+/g, ' ')
}

describe('the page of an invoice', () => {
  it('has lines, taxes and totals in the language of the account', async () => {
    const english = textOf(await html(SOURCE))
    expect(english).toContain('Invoice 101')
    expect(english).toContain('1 – 30 Apr 2024')
    expect(english).toContain('CALL 1:02:05 7% €2.35')
    expect(english).toContain('VAT 19% of €1,234.50 €234.56')
    expect(english).toContain('To pay €1,471.56')
    const german = textOf(await html({ ...SOURCE, language: 'de_AT' }))
    expect(german).toContain('Zu zahlen € 1.471,56')
    expect(german).toContain('Fällig am 14.05.2024')
  })

  it('marks usage whose records had prices, as other formats do', async () => {
    const [, usage] = LINES
    const lines = [{ ...(usage as SourceLine), isPrepriced: true as const }]
    const source = invoice(dueOf(lines), lines)
    expect(textOf(await html(source))).toContain('CALL (third-party price) 1:02:05')
    const json = JSON.parse((await rendered(source, 'json')).toString())
    expect(json.lines).toMatchObject([{ name: 'CALL', prepriced: true }])
    const ubl = (await rendered(source, 'ubl')).toString()
    expect(ubl).toContain('<cbc:Description>Third-party price</cbc:Description><cbc:Name>CALL<')
  })

  it('of a negative amount has no due date, terms and account', async () => {
    const stored = { payment_terms: 'Within 30 days' }
    const of = async (amount: string, more: object = {}) => {
      const lines = [line(amount)]
      const source = invoice(dueOf(lines), lines, { settings: settings(stored), ...more })
      const text = textOf(await html(source))
      return ['Due', 'IBAN', 'Within 30 days'].filter((each) => text.includes(each))
    }
    expect(await of('40.1')).toEqual(['Due', 'IBAN', 'Within 30 days'])
    expect(await of('-40.1')).toEqual([])
    expect(await of('-40.1', { kind: 'credit_note' })).toEqual([])
  })

  it('runs from right to left in Hebrew', async () => {
    const page = await html({ ...SOURCE, language: 'he_IL' })
    expect(page).toContain('<html lang="he-IL" dir="rtl">')
    expect(page).toContain('לתשלום')
  })

  it.each([
    ['xx_YY', 'To pay'],
    ['!', 'To pay'],
    [undefined, 'Zu zahlen'],
    ['fr', 'À payer'],
  ])('is in the language of the settings if there are no texts: %s', async (language, label) => {
    const { language: _, ...source } = SOURCE
    const other = settings({ language: language === undefined ? 'de' : 'en_GB' })
    const page = await html({ ...source, ...(language && { language }), settings: other })
    expect(textOf(page)).toContain(label)
  })

  it('has the columns of the settings', async () => {
    const columns = ['position', 'amount', 'description']
    const page = await html({ ...SOURCE, settings: settings({ columns }) })
    const headers = [...page.matchAll(/<th(?: [^>]*)?>([^<]*)/g)].map(([, text]) => text)
    expect(headers).toEqual(['No.', 'Amount', 'Description'])
  })

  it('says so if there are no lines', async () => {
    expect(textOf(await html(invoice('0', [])))).toContain('No charges')
  })

  it('escapes every text of the invoice and of the settings', async () => {
    const evil = `"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 | times: 6 }}`
    const party = Object.fromEntries(Object.keys(SOURCE.buyer).map((name) => [name, evil]))
    const stored = {
      seller: { ...SELLER, name: evil, street: evil, city: evil, vat_id: evil.slice(0, 64) },
      footer: evil,
      payment_terms: evil,
      untaxed: { category: 'E', reason: evil },
    }
    const taxes = [{ key: evil, description: evil, type: 'vat', rate: new Exact('0.19') }]
    const lines = [
      line('1', { name: evil, description: evil, taxes }),
      line('1', { name: evil, description: '', taxes: [] }),
    ]
    const page = await html({
      ...invoice('2.19', lines),
      buyer: party as unknown as InvoiceSource['buyer'],
      subscribers: new Map([[7, evil]]),
      settings: settings(stored),
    })
    expect(page).toContain('&lt;script&gt;')
    expect(page).not.toMatch(/<script|<img|\son\w+=[^&]*alert\(2\)>/)
    expect(page).not.toContain(' 42')
  })
})

/** Without any memory of its own. */
const BITS = "{% assign bits = 'a,b' | split: ',' %}"
const ENDLESS = `${BITS}${'{% for a in bits %}'.repeat(20)}x${'{% endfor %}'.repeat(20)}`

describe('files of the operator', () => {
  const template = (text: string) => writeFile(join(folder(), 'invoice.liquid'), text)

  it('replace the template', async () => {
    await template(
      '<h1>{{ seller.name }}</h1>{{ invoice.totals.payable | money }} {{ 0.07 | percent }}',
    )
    expect(await html(SOURCE, folder())).toBe('<h1>Tel &amp; Tel GmbH</h1>€1,471.56 7%')
  })

  it('add languages, and replace single texts', async () => {
    await mkdir(join(folder(), 'texts'))
    await writeFile(join(folder(), 'texts/nl.yaml'), 'payable: Te betalen')
    await writeFile(join(folder(), 'texts/de.yaml'), 'payable: Bitte zahlen')
    const dutch = textOf(await html({ ...SOURCE, language: 'nl_NL' }, folder()))
    expect(dutch).toContain('Te betalen € 1.471,56')
    expect(dutch).toContain('Invoice 101')
    const german = textOf(await html({ ...SOURCE, language: 'de' }, folder()))
    expect(german).toContain('Bitte zahlen')
    expect(german).toContain('Rechnung 101')
  })

  it('contain a logo', async () => {
    await writeFile(join(folder(), 'logo.png'), 'picture')
    expect(await html(SOURCE, folder())).toContain('<img src="data:image/png;base64,cGljdHVyZQ=="')
    expect(await html(SOURCE)).not.toContain('<img')
  })

  it.each([
    ['<p>\n\n{% if x %}', 3, 'tag {% if x %} not closed'],
    ['{{ seller.nane }}', 1, 'undefined variable: seller.nane'],
    ['a\n{{ number | shout }}', 2, 'undefined filter: shout'],
    ['a\n{{ number | money: }}\n{{ title | money }}', 3, 'Invalid argument: Invoice'],
    ['{% for x in (1..100000000) %}{{ x }}{% endfor %}', 1, 'memory alloc limit exceeded'],
    [ENDLESS, 1, 'template parts limit exceeded'],
    ["{% include 'gone' %}", 1, 'ENOENT'],
    ["{% include '../secret' %}", 1, 'ENOENT'],
    ["\n{{ 'secret.txt' | data_uri }}", 2, 'secret.txt is not a picture or font'],
    ["\n{{ '../secret.png' | data_uri }}", 2, 'the template folder has no ../secret.png'],
    ["\n{{ 'link.png' | data_uri }}", 2, 'the template folder has no link.png'],
  ])('that are invalid are refused with file and line: %j', async (text, at, reason) => {
    await writeFile(`${folder()}-secret.png`, 'secret')
    await symlink(`${folder()}-secret.png`, join(folder(), 'link.png'))
    await template(text)
    const error = await html(SOURCE, folder()).catch((thrown: unknown) => thrown)
    await rm(`${folder()}-secret.png`)
    expect(error).toBeInstanceOf(TemplateError)
    const { message } = error as Error
    expect(message).toContain(`${join(folder(), 'invoice.liquid')}, line ${at}: `)
    expect(message).toContain(reason)
    expect(message).not.toContain('\n')
  })

  it('cannot reach code of the process', async () => {
    await template('{% if seller.constructor %}yes{% else %}no{% endif %}')
    expect(await html(SOURCE, folder())).toBe('no')
  })

  it.each([
    ['payable: [', 'de.yaml, line 1: '],
    ['- a', 'de.yaml: must be an object of texts'],
    ['payable: 7', 'de.yaml: payable must be a text'],
  ])('of texts are refused with file and reason: %j', async (text, reason) => {
    await mkdir(join(folder(), 'texts'))
    await writeFile(join(folder(), 'texts/de.yaml'), text)
    const found = html({ ...SOURCE, language: 'de' }, folder())
    await expect(found).rejects.toThrow(TemplateError)
    await expect(found).rejects.toThrow(reason)
  })
})
