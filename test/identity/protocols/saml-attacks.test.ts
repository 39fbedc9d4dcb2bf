/** Attacks on the XML of SAML: the signature is valid, but covers other data than the data read. */
import { describe, expect, it } from 'vitest'
import {
  answer,
  assertionXml,
  responseXml,
  signed,
} from '../../support/identity/protocols/identity-provider.ts'
import { useSamlServer } from '../../support/identity/protocols/saml-server.ts'
import { HAS_OPENSSL } from '../../support/realtime/diameter/certificates.ts'

const EVIL = 'root@example.net'

describe.skipIf(!HAS_OPENSSL)('attacks on the XML of SAML (needs openssl)', () => {
  const world = useSamlServer()

  /** Parts of a valid response, and an assertion of another user that answers the same request. */
  const responseParts = async () => {
    const content = world.assertionFor(await world.login())
    const whole = answer(content, world.provider())
    const assertion = partOf(whole, 'saml:Assertion')
    const signature = partOf(assertion, 'Signature')
    const evil = assertionXml({ ...content, nameId: EVIL, roles: ['staff'], assertionId: '_evil' })
    const bare = assertion.replace(signature, '')
    return { content, whole, assertion, signature, bare, evil }
  }
  const inSignature = (signature: string, inside: string) =>
    signature.replace('</Signature>', `<Object>${inside}</Object></Signature>`)
  const inEvil = (evil: string, inside: string) =>
    evil.replace('</saml:Issuer>', `</saml:Issuer>${inside}`)

  it('refuses responses wrapped in responses (XSW 1 and 2)', async () => {
    await world.configure(world.settings({ want_assertions_signed: false }))
    const { content, bare, evil } = await responseParts()
    const whole = signed(responseXml(content, bare), 'Response', world.provider())
    const signature = partOf(whole, 'Signature')
    const original = whole.replace(signature, '')
    const forged = responseXml(content, evil)
    const wrapped = forged.replace('<samlp:Status>', `${inSignature(signature, original)}$&`)
    const detached = forged.replace('<samlp:Status>', `${original}${signature}$&`)
    for (const xml of [wrapped, detached, whole.replace(bare, evil)]) {
      await world.refused(xml, /it contains another response|signature/)
    }
    await world.configure(world.settings())
  })

  it('refuses assertions next to and around the signed one (XSW 3 and 4)', async () => {
    const { content, assertion, evil } = await responseParts()
    await world.refused(responseXml(content, evil + assertion), /more than one assertion/)
    await world.refused(responseXml(content, assertion + evil), /more than one assertion/)
    await world.refused(responseXml(content, inEvil(evil, assertion)), /more than one assertion/)
  })

  it('refuses a signature in another assertion than the signed one (XSW 5 and 6)', async () => {
    const { content, bare, signature, evil } = await responseParts()
    const moved = responseXml(content, inEvil(evil, signature) + bare)
    await world.refused(moved, /more than one assertion/)
    const inside = responseXml(content, inEvil(evil, inSignature(signature, bare)))
    await world.refused(inside, /more than one assertion/)
    const sameId = inEvil(evil.replace('_evil', idOf(bare)), inSignature(signature, bare))
    await world.refused(
      responseXml(content, sameId),
      /more than one assertion|it has a duplicate id/,
    )
  })

  it('refuses assertions in extensions and objects (XSW 7 and 8)', async () => {
    const { content, assertion, bare, signature, evil } = await responseParts()
    const extensions = `<samlp:Extensions>${evil}</samlp:Extensions>`
    await world.refused(responseXml(content, extensions + assertion), /more than one assertion/)
    const object = responseXml(content, inEvil(evil, inSignature(signature, bare)))
    await world.refused(object, /more than one assertion/)
    const other = bare.replaceAll('saml:Assertion', 'x:Assertion').replace('<x:', '<x:')
    const renamed = other.replace('<x:Assertion', '<x:Assertion xmlns:x="urn:x"')
    await world.refused(responseXml(content, evil + renamed), /more than one assertion/)
  })

  it('refuses duplicate ids, and references to other elements', async () => {
    const { whole, bare } = await responseParts()
    const twice = whole.replace('<samlp:Status>', `<samlp:Status Id="${idOf(bare)}">`)
    await world.refused(twice, /it has a duplicate id/)
    const elsewhere = whole.replace(/URI="#[^"]+"/, 'URI=""')
    await world.refused(elsewhere, /a signature does not cover the element that contains it/)
  })

  it('refuses a changed assertion, and a name that is split by a comment', async () => {
    const { whole } = await responseParts()
    await world.refused(whole.replace('>staff<', '>admin<'), /its signature is invalid/)
    // The provider has signed ada@example.net, without the comment, and the signature stays valid.
    const cut = whole.replace('ada@example.net', 'ada@example<!---->.net')
    await world.refused(cut, /it has a comment/)
  })

  it('refuses DOCTYPE, entities, CDATA and instructions, before anything reads them', async () => {
    const { whole } = await responseParts()
    const entity = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    await world.refused(entity + whole.replace('>staff<', '>&b;<'), /it has a DOCTYPE/)
    const file = '<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    await world.refused(file + whole, /it has a DOCTYPE/)
    await world.refused(whole.replace('>staff<', '>&undefined;<'), /it is not well-formed/)
    const data = whole.replace('ada@example.net', '<![CDATA[ada@example.net]]>')
    await world.refused(data, /it has a CDATA section/)
    await world.refused(whole.replace('>staff<', '><?x y?>staff<'), /processing instruction/)
  })

  it('refuses XML that is too deep, too large or not well-formed', async () => {
    const { content, assertion } = await responseParts()
    const deep = `${'<x>'.repeat(40)}${'</x>'.repeat(40)}`
    await world.refused(responseXml(content, assertion + deep), /it is too large/)
    await world.refused(responseXml(content, assertion + '<x/>'.repeat(5000)), /it is too large/)
    for (const text of ['', 'x', '<x', '<x/><y/>', '<a:b/>', '<x a="1" a="2"/>', '<x>\u0000</x>']) {
      await world.refused(text, /not well-formed|not base64|the response is missing/)
    }
    await world.refused('<x/>', /it is not a response/)
  })

  it('refuses algorithms that prove nothing: shared keys, lossy transforms', async () => {
    const { whole } = await responseParts()
    const hmac = whole.replace(/xmldsig-more#rsa-sha256/, 'xmldsig-more#hmac-sha256')
    await world.refused(hmac, /an algorithm of its signature is not allowed/)
    const xslt = 'http://www.w3.org/TR/1999/REC-xslt-19991116'
    const cutting = whole.replace(/(Transform Algorithm=")[^"]+/, `$1${xslt}`)
    await world.refused(cutting, /an algorithm of its signature is not allowed/)
    const comments = whole.replaceAll('xml-exc-c14n#', 'xml-exc-c14n#WithComments')
    await world.refused(comments, /an algorithm of its signature is not allowed/)
  })

  it('accepts the valid response that the attacks are derived from', async () => {
    const begun = await world.login()
    const whole = answer(world.assertionFor(begun), world.provider())
    expect((await world.accepted(whole, begun)).status).toBe(303)
    expect(world.opened.map(({ name }) => name)).toEqual(['ada@example.net'])
    expect(world.logged()).not.toContain(EVIL)
  })
})

/** The first element with this name, with its content. */
function partOf(xml: string, name: string): string {
  const begin = xml.indexOf(`<${name} `)
  const end = xml.indexOf(`</${name}>`, begin)
  if (begin < 0 || end < 0) throw new Error(`no ${name}`)
  return xml.slice(begin, end + `</${name}>`.length)
}

function idOf(assertion: string): string {
  return /ID="([^"]+)"/.exec(assertion)?.[1] ?? ''
}
