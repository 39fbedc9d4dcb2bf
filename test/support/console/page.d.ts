/** The part of the DOM that page functions of the browser tests read; other code has no DOM. */
declare const document: {
  readonly documentElement: {
    readonly scrollWidth: number
    readonly clientWidth: number
    dir: string
  }
  readonly activeElement: {
    readonly role: string | null
    readonly textContent: string | null
    getAttribute(name: string): string | null
  } | null
  querySelector(selector: string): object | null
  getElementById(id: string): { readonly textContent: string | null } | null
}
declare const window: {
  readonly scrollY: number
  readonly axe: typeof import('axe-core')
  readonly location: { hash: string }
}
