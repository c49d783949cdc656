extends SceneTree

# Writes answer.json: where the bones of each scene in jobs.json are at some times, as the engine plays its animation.

func find(node, kind):
	if node.is_class(kind):
		return node
	for child in node.get_children():
		var below = find(child, kind)
		if below != null:
			return below
	return null

func play(job):
	var scene = load("res://" + job["file"]).instance()
	get_root().add_child(scene)
	var skeleton = find(scene, "Skeleton")
	var player = find(scene, "AnimationPlayer")
	var names = []
	for bone in range(skeleton.get_bone_count()):
		names.append(skeleton.get_bone_name(bone))
	var places = []
	player.play(job["clip"])
	for time in job["times"]:
		player.seek(time, true)
		var frame = []
		for bone in range(skeleton.get_bone_count()):
			var place = skeleton.get_global_transform().xform(skeleton.get_bone_global_pose(bone).origin)
			frame.append([place.x, place.y, place.z])
		places.append(frame)
	var animation = player.get_animation(job["clip"])
	var tracks = []
	for track in range(animation.get_track_count()):
		tracks.append(str(animation.track_get_path(track)))
	return {"names": names, "places": places, "length": animation.length, "tracks": tracks}

func _init():
	var file = File.new()
	file.open("res://jobs.json", File.READ)
	var jobs = JSON.parse(file.get_as_text()).result
	var answers = []
	for job in jobs:
		answers.append(play(job))
	file.close()
	file.open("res://answer.json", File.WRITE)
	file.store_string(JSON.print(answers))
	file.close()
	quit()
