/** Decides whether the answer of a receiver accepts an event. Pure. */
import { SaxesParser } from 'saxes'
import { isObject } from '../domain/fields.ts'
import { DeliveryError } from './failure.ts'

/** Characters of an answer that are stored. */
const STORED_LENGTH_MAX = 1000

/**
 * The text to store of an answer that accepts the event. Throws `DeliveryError` if it does not: in
 * JSON `success` has to be true, 1, "1" or "true"; in XML the text of the first element `success`
 * has to be 1 or true.
 */
export function acceptanceIn(bytes: Buffer, decoder: 'json' | 'xml'): string {
  const text = bytes.toString('utf8').trim()
  const success = decoder === 'xml' ? successInXml(text) : successInJson(text)
  if (!isTrue(success)) throw new DeliveryError('not accepted', 'its answer has no true success')
  return text.slice(0, STORED_LENGTH_MAX)
}

function isTrue(success: unknown): boolean {
  return typeof success !== 'object' && /^(1|true)$/i.test(String(success).trim())
}

function successInJson(text: string): unknown {
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    if (text.startsWith('<')) throw new DeliveryError('HTML', 'its answer is HTML or XML, not JSON')
    throw new DeliveryError('not JSON', `its answer ${text === '' ? 'is empty' : 'is not JSON'}`)
  }
  return isObject(answer) ? answer['success'] : undefined
}

function successInXml(text: string): string {
  let depth = 0
  /** Depth of the element while it is open. */
  let open = 0
  let success: string | null = null
  const parser = new SaxesParser()
  const fail = () => {
    const isHtml = /^<(!doctype html|html)/i.test(text)
    if (isHtml) throw new DeliveryError('HTML', 'its answer is HTML, not XML')
    throw new DeliveryError('not XML', `its answer ${text === '' ? 'is empty' : 'is not XML'}`)
  }
  parser.on('error', fail)
  parser.on('doctype', fail)
  parser.on('opentag', ({ name }) => {
    depth += 1
    if (name !== 'success' || success !== null) return
    open = depth
    success = ''
  })
  const append = (part: string) => {
    if (open === depth && success !== null) success += part
  }
  parser.on('text', append)
  parser.on('cdata', append)
  parser.on('closetag', () => {
    if (depth === open) open = -1
    depth -= 1
  })
  parser.write(text).close()
  return success ?? ''
}
