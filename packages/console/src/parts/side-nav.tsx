/** Chooses one of many things of a page; on wide windows at its side. */
import './side-nav.css'
import type { ComponentChildren } from 'preact'

interface SideNavProps {
  readonly label: string
  readonly names: readonly string[]
  readonly current: string
  readonly addressOf: (name: string) => string
  /** The chosen one. */
  readonly children: ComponentChildren
}

export function SideNav({ label, names, current, addressOf, children }: SideNavProps) {
  return (
    <div class="with-side">
      <nav aria-label={label}>
        <ul>
          {names.map((name) => (
            <li key={name}>
              <a href={addressOf(name)} aria-current={name === current ? 'true' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {children}
    </div>
  )
}
