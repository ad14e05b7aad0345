import {
  type APIGuildMember,
  type APIOverwrite,
  type APIRole,
  OverwriteType,
  PermissionFlagsBits,
  PermissionsBitField,
} from 'discord.js';

/**
 * What a member of a server may do in a channel, from what Discord's REST API gives without a gateway.
 * Source: Discord docs, "Permissions", "Permission Overwrites".
 */
export function permissionsIn(
  overwrites: readonly APIOverwrite[],
  {
    guild,
    member,
    userId,
  }: { guild: { id: string; roles: APIRole[] }; member: APIGuildMember; userId: string },
): Readonly<PermissionsBitField> {
  // The role of everybody has the server's own id.
  const isOurs = (id: string) => id === guild.id || member.roles.includes(id);
  const base = guild.roles
    .filter(({ id }) => isOurs(id))
    .reduce((all, { permissions }) => all | BigInt(permissions), 0n);
  if ((base & PermissionFlagsBits.Administrator) !== 0n) {
    return new PermissionsBitField(PermissionsBitField.All);
  }
  const apply = (to: bigint, which: (overwrite: APIOverwrite) => boolean) => {
    const chosen = overwrites.filter(which);
    const denied = chosen.reduce((all, { deny }) => all | BigInt(deny), 0n);
    const allowed = chosen.reduce((all, { allow }) => all | BigInt(allow), 0n);
    return (to & ~denied) | allowed;
  };
  const forAll = apply(base, ({ id }) => id === guild.id);
  const forRoles = apply(
    forAll,
    ({ id, type }) => type === OverwriteType.Role && id !== guild.id && isOurs(id),
  );
  const forMember = apply(
    forRoles,
    ({ id, type }) => type === OverwriteType.Member && id === userId,
  );
  return new PermissionsBitField(forMember);
}
