declare module 'virtual:operations' {
  const known: ReadonlySet<string>
  export default known
}
declare module 'virtual:event-types' {
  const known: Set<string>
  export default known
}
