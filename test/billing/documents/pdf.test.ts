import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Document } from 'mupdf'
import { describe, expect, it } from 'vitest'
import { TemplateError } from '../../../src/billing/documents/errors.ts'
import { directionOf, visualRuns, wrapText } from '../../../src/billing/documents/pdf/bidi.ts'
import type { InvoiceSource } from '../../../src/billing/documents/source.ts'
import { dueOf, invoice, line, rendered, settings } from '../../support/billing/invoices.ts'

const pdf = (source: InvoiceSource, templates = '') => rendered(source, 'pdf', templates)

/** The text of each page, as an independent reader finds it. */
function pagesOf(bytes: Buffer): readonly string[] {
  const document = Document.openDocument(bytes, 'application/pdf')
  return Array.from({ length: document.countPages() }, (_, page) => {
    const text = document.loadPage(page).toStructuredText('preserve-whitespace').asText()
    return text.replace(/\s+/g, ' ')
  })
}

const LINES = [line('45.161290'), line('9.995', { sid: 0, type: 'service', name: 'PAPER' })]
const SOURCE = invoice(dueOf(LINES), LINES)

describe('the PDF of an invoice', () => {
  it('has facts, parties, lines and totals', async () => {
    const [page = '', ...others] = pagesOf(await pdf(SOURCE))
    expect(others).toEqual([])
    for (const text of [
      'Invoice 101',
      '1 – 30 Apr 2024',
      'Tel & Tel GmbH',
      'VAT number DE123456789',
      'Dana Levi',
      'Germany',
      'Plan X',
      '€45.16',
      'Subscriber 7 · Dana',
      'To pay',
      '€65.64',
      'IBAN DE02120300000000202051',
      'Page 1 of 1',
    ]) {
      expect(page).toContain(text)
    }
  })

  it('is the same for the same invoice', async () => {
    expect((await pdf(SOURCE)).equals(await pdf(SOURCE))).toBe(true)
  })

  it('repeats the header of a table on each page, and numbers the pages', async () => {
    const lines = Array.from({ length: 120 }, (_, index) => {
      return line('1.005', { description: `Item ${index} of the plan` })
    })
    const pages = pagesOf(await pdf(invoice(dueOf(lines), lines)))
    expect(pages.length).toBeGreaterThan(2)
    for (const [index, page] of pages.entries()) {
      expect(page).toContain(`Page ${index + 1} of ${pages.length}`)
      expect(page).toContain('Invoice 101')
      if (/Item \d/.test(page)) expect(page).toContain('Description')
    }
    const items = pages.flatMap((page) => [...page.matchAll(/Item (\d+)/g)].map(([, at]) => at))
    expect(items).toEqual(lines.map((_, index) => String(index)))
  })

  it('has the lines of a subscriber on one page, if one is enough', async () => {
    const lines = [11, 12, 13, 14].flatMap((sid) =>
      Array.from({ length: 12 }, (_, index) =>
        line('1', { sid, description: `Item ${sid}-${index}` }),
      ),
    )
    const pages = pagesOf(await pdf(invoice(dueOf(lines), lines)))
    for (const sid of [11, 12, 13, 14]) {
      const having = pages.filter((page) => page.includes(`Item ${sid}-`))
      expect(having).toHaveLength(1)
      expect(having[0]).toContain(`Subscriber ${sid}`)
      expect(having[0]?.match(new RegExp(`Item ${sid}-`, 'g'))).toHaveLength(12)
    }
  })

  it('has no page with only the end of a table or of the document', async () => {
    for (let count = 20; count < 32; count += 1) {
      const lines = Array.from({ length: count }, (_, index) => {
        return line('1', { description: `Item ${index}` })
      })
      const pages = pagesOf(await pdf(invoice(dueOf(lines), lines)))
      expect(pages[0]).toContain('Item 0')
      const end = pages.find((page) => page.includes('Subtotal')) ?? ''
      expect(end, `subtotal of ${count}`).toContain('Item')
      const total = pages.find((page) => page.includes('To pay')) ?? ''
      expect(total, `taxes of ${count}`).toContain('VAT 19%')
      expect(total, `payment of ${count}`).toContain('IBAN')
    }
  })

  it('leaves out subscribers without charges if the settings say so', async () => {
    const lines = [line('5'), line('0', { sid: 8 }), line('0', { sid: 9, taxes: [] })]
    const textOf = async (stored: object) =>
      pagesOf(await pdf(invoice(dueOf(lines), lines, { settings: settings(stored) }))).join(' ')
    expect(await textOf({})).toMatch(/Subscriber 8.*Subscriber 9.*Not taxed/)
    const text = await textOf({ hide_zero: true })
    expect(text).toContain('Subscriber 7')
    expect(text).not.toMatch(/Subscriber [89]|Not taxed|Exempt/)
  })

  it.each([
    ['Greek', 'Τηλέφωνο'],
    ['Cyrillic', 'Телефон'],
    ['Latin with marks', 'Žluťoučký kůň ș ğ'],
    ['Hebrew', 'מסלול'],
    ['Arabic', 'باقة'],
  ])('has %s texts', async (_, text) => {
    const [page] = pagesOf(await pdf(invoice('0', [line('0', { description: text })])))
    expect(page?.normalize()).toContain(text)
  })

  it('has a sign for each character that the font lacks', async () => {
    const [page] = pagesOf(await pdf(invoice('0', [line('0', { description: 'a中文\u{2070e}b' })])))
    expect(page).toContain('a□□□b')
  })

  it('cuts off texts that are longer than a page', async () => {
    const lines = [line('1', { description: 'word '.repeat(5000) }), line('1')]
    const pages = pagesOf(await pdf(invoice('2.38', lines)))
    expect(pages).toHaveLength(1)
    expect(pages[0]).toContain('…')
  })

  it('has the columns of the settings', async () => {
    const [page] = pagesOf(
      await pdf({ ...SOURCE, settings: settings({ columns: ['description', 'amount'] }) }),
    )
    expect(page).toContain('Description Amount')
  })

  it('takes fonts and logo of the operator, and names a file that it cannot read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tg-templates-'))
    try {
      await writeFile(join(folder, 'logo.png'), PNG)
      expect((await pdf(SOURCE, folder)).includes('/Subtype /Image')).toBe(true)
      for (const damaged of ['no picture', PNG.subarray(0, 60), PNG.map(damage)]) {
        await writeFile(join(folder, 'logo.png'), damaged)
        await expect(pdf(SOURCE, folder)).rejects.toThrow(TemplateError)
        await expect(pdf(SOURCE, folder)).rejects.toThrow(/logo\.png cannot be drawn: /)
      }
      await writeFile(join(folder, 'logo.png'), PNG)
      await writeFile(join(folder, 'bold.ttf'), 'no font')
      await expect(pdf(SOURCE, folder)).rejects.toThrow(/bold\.ttf/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

/** Changes its pixels, where pdfkit finds errors late. */
function damage(byte: number, index: number): number {
  return index > 42 && index < 54 ? byte ^ 0x55 : byte
}

/** One pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E' +
    'rkJggg==',
  'base64',
)

describe('right-to-left texts', () => {
  const texts = (line: string, base: 'ltr' | 'rtl') =>
    visualRuns(line, base).map(({ text }) => text)

  it('keep numbers and Latin words in their order', () => {
    expect(texts('abc', 'ltr')).toEqual(['abc'])
    expect(texts('שלום 12 abc', 'ltr')).toEqual(['12', 'שלום ', ' abc'])
    expect(texts('שלום abc', 'rtl')).toEqual(['abc', 'שלום '])
    expect(texts('', 'rtl')).toEqual([])
  })

  it.each([
    ['Loyalty 10 %', 'ltr'],
    ['+49 30 1234', 'ltr'],
    ['12 חודש', 'rtl'],
    ['باقة 50 GB', 'rtl'],
    ['\u200f5.00', 'rtl'],
    ['', 'ltr'],
  ])('have the direction of their first letter: %j', (text, direction) => {
    expect(directionOf(text)).toBe(direction)
  })

  it('turn brackets round, and leave out marks without a glyph', () => {
    expect(texts('\u200f(12)', 'rtl').join('')).toBe('(12)')
    expect(texts('א(ב)', 'rtl')).toEqual(['א)ב('])
  })
})

describe('lines of a text', () => {
  const wrap = (text: string, width: number, linesMax = 9) =>
    wrapText(text, width, linesMax, (part) => part.length)

  it.each([
    ['aa bb cc', 5, ['aa bb', 'cc']],
    ['aaaaaaa b', 3, ['aaa', 'aaa', 'a b']],
    ['a\nb\r\nc', 9, ['a', 'b', 'c']],
    ['', 9, ['']],
    ['ab', 0, ['a', 'b']],
  ])('%j in %d', (text, width, lines) => {
    expect(wrap(text, width)).toEqual(lines)
  })

  it('are limited in number: the last one is shortened', () => {
    expect(wrap('aa bb cc dd', 2, 2)).toEqual(['aa', 'b…'])
    expect(wrap('aa bb', 2, 2)).toEqual(['aa', 'bb'])
  })
})
